"""A call as plain data, as JSON and YAML give them: made into a :class:`opgen.model.Call`, checked
on the way, and back.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from opgen.calls.kinds import KINDS, Element, Family, ParameterKind
from opgen.calls.vocabulary import vocabulary
from opgen.files.yamlfile import did_you_mean
from opgen.model import Argument, Call, TensorDesc

TENSOR_KEYS = ("shape", "dtype", "format", "strides", "offset", "storage_shape", "range")
MAX_RANK = 25
"""Axes of an aclTensor, at most."""
MAX_ITEMS = 1024
"""Items of an int or bool array, at most."""
MOST_FAULTS = 8
"""Faults of one call that its message names."""
_LARGEST = sys.float_info.max


class CallFault(Exception):
    """What is wrong with the form of one call; of one argument, texts that follow its name."""


class ArgumentReader:
    """Reads the arguments of calls. Equal ones of a file are checked once and become one object;
    ``most`` of a kind are remembered, so that calls that are all unlike do not fill the memory.
    """

    def __init__(self, most: int = 100_000) -> None:
        self._known: dict[str, dict[bytes, Argument]] = {kind: {} for kind in KINDS}
        self._most = most

    def read(
        self, args: Mapping[str, Any], kinds: Mapping[str, str]
    ) -> tuple[dict[str, Argument], list[str]]:
        """(the arguments that ``kinds`` names, everything that is wrong with them)."""
        arguments: dict[str, Argument] = {}
        faults: list[str] = []
        for name, kind in kinds.items():
            known, written = self._known[kind], marshal.dumps(args.get(name))  # 1 is not True there
            argument = known.get(written, ...)
            try:
                if argument is ...:
                    if len(known) > self._most:
                        known.clear()
                    argument = known[written] = _argument(args.get(name), KINDS[kind])
                arguments[name] = argument
            except CallFault as fault:
                if name in args:
                    faults += [f"args.{name}{text}" for text in fault.args]
        return arguments, faults


def make_call(
    op: object,
    product: object,
    args: object,
    prototypes: Mapping[str, Mapping[str, str]],
    reader: ArgumentReader | None = None,
) -> Call:
    """A :class:`Call` from plain data; raises :class:`CallFault` that says all that is wrong with
    its arguments.

    ``prototypes`` maps each api to its parameters and their kinds; the calls of one file share
    ``reader``.
    """
    if not isinstance(op, str) or op not in prototypes:
        raise CallFault(_no_such("op", op, prototypes))
    products = vocabulary().products
    if not isinstance(product, str) or product not in products:
        raise CallFault(_no_such("product", product, products))
    if not isinstance(args, dict):
        raise CallFault("args must be an object")
    kinds = prototypes[op]
    arguments, faults = (reader or ArgumentReader()).read(args, kinds)
    if args.keys() != kinds.keys():
        missing = [
            f"args.{name} is missing; a null pointer is null" for name in kinds if name not in args
        ]
        unknown = [
            f"args.{name}: {op} has no such parameter{did_you_mean(name, kinds)}"
            for name in args
            if name not in kinds
        ]
        faults = missing + unknown + faults
    if faults:
        more = "; and more" if len(faults) > MOST_FAULTS else ""
        raise CallFault("; ".join(faults[:MOST_FAULTS]) + more)
    return Call(op, product, arguments)


def _no_such(what: str, word: object, known: Mapping[str, object]) -> str:
    return f"no such {what} {word!r}{did_you_mean(word, known)}; known: {', '.join(known)}"


def _argument(value: Any, kind: ParameterKind) -> Argument:
    if kind.family != "scalar":
        return None if value is None else _POINTER[kind.family](value, kind.element)
    if not kind.element.accepts(value):
        raise CallFault(f": expects {kind.element.expects}, not {value!r}")
    return value  # type: ignore[no-any-return]


def _items(value: object, element: Element, key: str = "") -> tuple[int, ...]:
    if not isinstance(value, list):
        raise CallFault(f"{key}: expects a list of {element.several}, not {value!r}")
    if len(value) > MAX_ITEMS:
        raise CallFault(f"{key}: {len(value)} items; at most {MAX_ITEMS}")
    for item in value:
        if not element.accepts(item):
            raise CallFault(f"{key}: {item!r} {element.refusal}")
    return tuple(value)


def _tensor(value: object, element: Element) -> TensorDesc:
    if not isinstance(value, dict):
        raise CallFault(
            f": expects a tensor (an object with shape, dtype, format) or null, not {value!r}"
        )
    for key in value:
        if key not in TENSOR_KEYS:
            raise CallFault(f".{key}: no such key{did_you_mean(key, TENSOR_KEYS)}")
    missing = [f".{key} is missing" for key in ("shape", "dtype") if key not in value]
    if missing:
        raise CallFault(*missing)
    shape = _items(value["shape"], element, ".shape")
    if len(shape) > MAX_RANK:
        raise CallFault(f".shape: {len(shape)} axes; an aclTensor has at most {MAX_RANK}")
    dtype, layout = value["dtype"], value.get("format", "ND")
    for what, word in (("dtype", dtype), ("format", layout)):
        known = vocabulary().index[what]
        if not isinstance(word, str) or word not in known:
            raise CallFault(f".{what}: no such {what} {word!r}{did_you_mean(word, known)}")
    strides, offset, storage = value.get("strides"), value.get("offset"), value.get("storage_shape")
    if strides is not None:
        strides = _items(strides, element, ".strides")
        if len(strides) != len(shape):
            raise CallFault(f".strides: {len(strides)} strides for {len(shape)} axes")
    if offset is None:
        offset = 0
    elif not element.accepts(offset):
        raise CallFault(f".offset: {offset!r} {element.refusal}")
    if storage is not None:
        storage = _items(storage, element, ".storage_shape")
    return TensorDesc(shape, dtype, layout, strides, offset, storage, _range(value.get("range")))


def _range(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    if (
        type(value) is list
        and len(value) == 2
        and all(type(limit) in (int, float) for limit in value)
        and -_LARGEST <= value[0] <= value[1] <= _LARGEST
    ):
        return float(value[0]), float(value[1])
    raise CallFault(f".range: expects [lowest, highest], finite numbers, not {value!r}")


_POINTER: Mapping[Family, Callable[[object, Element], Argument]] = {
    "tensor": _tensor,
    "array": _items,
}


def to_json(call: Call) -> dict[str, Any]:
    """The args of a call as plain data, in the form that :func:`make_call` reads."""
    return {name: _plain(value) for name, value in call.args.items()}


def _plain(value: Argument) -> Any:
    if isinstance(value, TensorDesc):
        plain: dict[str, Any] = {
            "shape": list(value.shape),
            "dtype": value.dtype,
            "format": value.format,
        }
        if not value.plain:
            plain["strides"] = None if value.strides is None else list(value.strides)
            plain["offset"] = value.offset
            plain["storage_shape"] = (
                None if value.storage_shape is None else list(value.storage_shape)
            )
        if value.range is not None:
            plain["range"] = list(value.range)
        return plain
    return list(value) if isinstance(value, tuple) else value
