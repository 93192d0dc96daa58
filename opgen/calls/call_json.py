"""A call as plain data, as JSON and YAML give them: made into a :class:`opgen.model.Call`, checked
on the way, and back.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from opgen.calls.table import SCALARS
from opgen.calls.vocabulary import vocabulary
from opgen.files.yamlfile import did_you_mean
from opgen.model import Argument, Call, TensorDesc

TENSOR_KEYS = frozenset({"shape", "dtype", "format", "strides", "offset", "storage_shape", "range"})
MAX_RANK = 25
"""Axes of an aclTensor, at most."""
MAX_ITEMS = 1024
"""Items of an int or bool array, at most."""
MOST_FAULTS = 8
"""Faults of one call that its message names."""
MOST_REMEMBERED = 100_000
"""Arguments of a kind that are remembered, so that a file of calls that are all unlike does not
fill the memory."""
_LOW, _HIGH = SCALARS["int64"]
_MOST = sys.float_info.max

Memory: TypeAlias = dict[str, dict[bytes, Argument]]
"""Kind -> what was written -> what it means: equal tensors and arrays of a file are checked once
and become one object."""


class CallFault(Exception):
    """What is wrong with the form of one call."""


def new_memory() -> Memory:
    """A memory that nothing is in yet, for the calls of one file."""
    return {kind: {} for kind in _POINTER}


def make_call(
    op: Any,
    product: Any,
    args: Any,
    prototypes: Mapping[str, Mapping[str, str]],
    memory: Memory | None = None,
) -> Call:
    """A :class:`Call` from plain data; raises :class:`CallFault` that says all that is wrong with
    its arguments.

    ``memory`` is what the calls of one file share.
    """
    kinds = prototypes.get(op) if isinstance(op, str) else None
    if kinds is None:
        raise CallFault(
            f"no such op {op!r}{did_you_mean(op, prototypes)}; known are {', '.join(prototypes)}"
        )
    if not isinstance(product, str) or product not in vocabulary().products:
        raise CallFault(
            f"no such product {product!r}{did_you_mean(product, vocabulary().products)}; known are"
            f" {', '.join(vocabulary().products)}"
        )
    if not isinstance(args, dict):
        raise CallFault("args must be an object")
    faults: list[str] = []
    if args.keys() != kinds.keys():
        faults += [
            f"args.{name} is missing; a null pointer is null" for name in kinds if name not in args
        ]
        faults += [
            f"args.{name}: {op} has no such parameter{did_you_mean(name, kinds)}"
            for name in args
            if name not in kinds
        ]
    memory = new_memory() if memory is None else memory
    meant: dict[str, Argument] = {}
    for name, kind in kinds.items():
        value = args.get(name)
        try:
            if kind in _SCALAR:
                meant[name] = _SCALAR[kind](value, name, kind) if name in args else None
            elif value is None:
                meant[name] = None
            else:
                known, written = memory[kind], marshal.dumps(value)
                meaning = known.get(written)
                if meaning is None:
                    if len(known) > MOST_REMEMBERED:
                        known.clear()
                    meaning = known[written] = _POINTER[kind](value, name)
                meant[name] = meaning
        except CallFault as fault:
            faults.append(str(fault))
    if faults:
        raise CallFault(
            "; ".join(faults[:MOST_FAULTS]) + ("; and more" if len(faults) > MOST_FAULTS else "")
        )
    return Call(op, product, meant)


def _integers(value: Any, name: str, key: str = "") -> tuple[int, ...]:
    if type(value) is list and len(value) <= MAX_ITEMS:
        for item in value:
            if type(item) is not int or not _LOW <= item <= _HIGH:
                raise CallFault(f"args.{name}{key}: {item!r} is no whole number of 64 bits")
        return tuple(value)
    if type(value) is not list:
        raise CallFault(f"args.{name}{key}: expects a list of whole numbers, not {value!r}")
    raise CallFault(f"args.{name}{key}: {len(value)} items; at most {MAX_ITEMS}")


def _tensor(value: Any, name: str) -> TensorDesc:
    if type(value) is not dict:
        raise CallFault(
            f"args.{name}: expects a tensor (an object with shape, dtype, format) or null, not"
            f" {value!r}"
        )
    if not TENSOR_KEYS.issuperset(value):
        unknown = next(key for key in value if key not in TENSOR_KEYS)
        raise CallFault(f"args.{name}.{unknown}: no such key{did_you_mean(unknown, TENSOR_KEYS)}")
    missing = [f"args.{name}.{key} is missing" for key in ("shape", "dtype") if key not in value]
    if missing:
        raise CallFault("; ".join(missing))
    shape = _integers(value["shape"], name, ".shape")
    if len(shape) > MAX_RANK:
        raise CallFault(
            f"args.{name}.shape: {len(shape)} axes; an aclTensor has at most {MAX_RANK}"
        )
    dtype, layout = value["dtype"], value.get("format", "ND")
    index = vocabulary().index
    if type(dtype) is not str or dtype not in index["dtype"]:
        raise CallFault(
            f"args.{name}.dtype: no such dtype {dtype!r}{did_you_mean(dtype, index['dtype'])}"
        )
    if type(layout) is not str or layout not in index["format"]:
        raise CallFault(
            f"args.{name}.format: no such format {layout!r}{did_you_mean(layout, index['format'])}"
        )
    strides, offset, storage = value.get("strides"), value.get("offset"), value.get("storage_shape")
    if strides is not None:
        strides = _integers(strides, name, ".strides")
        if len(strides) != len(shape):
            raise CallFault(f"args.{name}.strides: {len(strides)} strides for {len(shape)} axes")
    if offset is None:
        offset = 0
    elif type(offset) is not int or not _LOW <= offset <= _HIGH:
        raise CallFault(f"args.{name}.offset: {offset!r} is no whole number of 64 bits")
    if storage is not None:
        storage = _integers(storage, name, ".storage_shape")
    return TensorDesc(
        shape, dtype, layout, strides, offset, storage, _range(value.get("range"), name)
    )


def _range(value: Any, name: str) -> tuple[float, float] | None:
    if value is None:
        return None
    if (
        type(value) is list
        and len(value) == 2
        and all(type(v) in (int, float) for v in value)
        and -_MOST <= value[0] <= value[1] <= _MOST
    ):
        return float(value[0]), float(value[1])
    raise CallFault(f"args.{name}.range: expects [lowest, highest], finite numbers, not {value!r}")


def _int_array(value: Any, name: str) -> tuple[int, ...]:
    return _integers(value, name)


def _bool_array(value: Any, name: str) -> tuple[bool, ...]:
    if (
        type(value) is not list
        or len(value) > MAX_ITEMS
        or any(type(item) is not bool for item in value)
    ):
        raise CallFault(f"args.{name}: expects a list of true and false, or null, not {value!r}")
    return tuple(value)


def _integer(value: Any, name: str, kind: str) -> Argument:
    low, high = SCALARS[kind]
    if type(value) is not int or not low <= value <= high:
        raise CallFault(
            f"args.{name}: expects a whole number of {kind}, {low} to {high}, not {value!r}"
        )
    return value


def _bool(value: Any, name: str, kind: str) -> Argument:
    if type(value) is not bool:
        raise CallFault(f"args.{name}: expects true or false, not {value!r}")
    return value


_SCALAR: dict[str, Callable[[Any, str, str], Argument]] = {
    "bool": _bool,
    "int8": _integer,
    "int32": _integer,
    "int64": _integer,
}
_POINTER: dict[str, Callable[[Any, str], Argument]] = {
    "tensor": _tensor,
    "int_array": _int_array,
    "bool_array": _bool_array,
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
