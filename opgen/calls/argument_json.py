"""One argument as plain data, made into what a :class:`opgen.model.Call` holds, and checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from opgen.calls import typed
from opgen.calls.kinds import Element, Family, ParameterKind
from opgen.calls.vocabulary import vocabulary
from opgen.model import AclScalar, Argument, TensorDesc, did_you_mean

TENSOR_KEYS = ("shape", "dtype", "format", "strides", "offset", "storage_shape", "range")
MAX_RANK = 25
"""Axes of an aclTensor, at most."""
MAX_ITEMS = 1024
"""Items of an int or bool array, at most."""
_LARGEST = sys.float_info.max


class ArgumentFault(Exception):
    """What is wrong with the form of one argument: texts that follow its name."""


def argument(value: Any, kind: ParameterKind) -> Argument:
    """What a value is as an argument of a kind; raises :class:`ArgumentFault`."""
    if value is None and kind.pointer:
        return None
    if kind.family != "scalar":
        return _POINTER[kind.family](value, kind.element)
    read: Argument = kind.element.read(value)
    if read is None:
        raise ArgumentFault(f": expects {kind.element.expects}, not {value!r}")
    return read


def _items(value: object, element: Element, key: str = "") -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ArgumentFault(f"{key}: expects a list of {element.several}, not {value!r}")
    if len(value) > MAX_ITEMS:
        raise ArgumentFault(f"{key}: {len(value)} items; at most {MAX_ITEMS}")
    read = tuple(map(element.read, value))
    if None in read:
        raise ArgumentFault(f"{key}: {value[read.index(None)]!r} {element.refusal}")
    return read


def _tensor(value: object, element: Element) -> TensorDesc:
    if not isinstance(value, dict):
        raise ArgumentFault(
            f": expects a tensor (an object with shape, dtype, format) or null, not {value!r}"
        )
    for key in value:
        if key not in TENSOR_KEYS:
            raise ArgumentFault(f".{key}: no such key{did_you_mean(key, TENSOR_KEYS)}")
    missing = [f".{key} is missing" for key in ("shape", "dtype") if key not in value]
    if missing:
        raise ArgumentFault(*missing)
    shape = _items(value["shape"], element, ".shape")
    if len(shape) > MAX_RANK:
        raise ArgumentFault(f".shape: {len(shape)} axes; an aclTensor has at most {MAX_RANK}")
    dtype, layout = value["dtype"], value.get("format", "ND")
    for what, word in (("dtype", dtype), ("format", layout)):
        known = vocabulary().index[what]
        if not isinstance(word, str) or word not in known:
            raise ArgumentFault(f".{what}: no such {what} {word!r}{did_you_mean(word, known)}")
    strides, offset, storage = value.get("strides"), value.get("offset"), value.get("storage_shape")
    if strides is not None:
        strides = _items(strides, element, ".strides")
        if len(strides) != len(shape):
            raise ArgumentFault(f".strides: {len(strides)} strides for {len(shape)} axes")
    if offset is None:
        offset = 0
    elif element.read(offset) is None:
        raise ArgumentFault(f".offset: {offset!r} {element.refusal}")
    if storage is not None:
        storage = _items(storage, element, ".storage_shape")
    return TensorDesc(shape, dtype, layout, strides, offset, storage, _range(value.get("range")))


def _typed(value: object, element: Element) -> AclScalar:
    keys = ("value", "dtype")
    if not isinstance(value, dict) or sorted(value) != sorted(keys):
        raise ArgumentFault(f": expects an object with value and dtype, or null, not {value!r}")
    number, dtype = (value[key] for key in keys)
    if not isinstance(dtype, str) or dtype not in typed.TYPES:
        raise ArgumentFault(
            f".dtype: no dtype of a scalar is {dtype!r}{did_you_mean(dtype, typed.TYPES)}"
        )
    read = typed.read(number, dtype)
    if read is None:
        raise ArgumentFault(f".value: {number!r} is no number that {dtype} has")
    return AclScalar(read, dtype)


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
    raise ArgumentFault(f".range: expects [lowest, highest], finite numbers, not {value!r}")


_POINTER: Mapping[Family, Callable[[object, Element], Argument]] = {
    "tensor": _tensor,
    "array": _items,
    "typed": _typed,
    "list": lambda value, element: element.read(value),
}
