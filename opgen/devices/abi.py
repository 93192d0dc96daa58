"""The vendor's C ABI as far as a runner needs it: signatures, and arguments from descriptions.

A signature follows from the kinds of a spec's parameters, so a new operator needs nothing here.
Everything in this module is plain C through ctypes; which library a function comes from is no
concern of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from ctypes import (
    POINTER,
    c_bool,
    c_char_p,
    c_int8,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

ACL_ERROR_REPEAT_INITIALIZE = 100002
ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST = 1, 2
ACL_MEM_MALLOC_HUGE_FIRST = 0

ArgumentValue: TypeAlias = "tuple[int, ...] | int | bool | TensorArgument | None"
Signature: TypeAlias = tuple[type, list[type]]
"""The type of a function's result, and those of its arguments."""


class CFunction(Protocol):
    """A function of a loaded library."""

    restype: type | None
    argtypes: Sequence[type]

    def __call__(self, *arguments: object) -> Any:
        """Call it; the result is of the type of ``restype``."""


RUNTIME: Mapping[str, Signature] = {
    "aclInit": (c_int32, [c_char_p]),
    "aclrtGetDeviceCount": (c_int32, [POINTER(c_uint32)]),
    "aclrtSetDevice": (c_int32, [c_int32]),
    "aclrtCreateStream": (c_int32, [POINTER(c_void_p)]),
    "aclrtSynchronizeStream": (c_int32, [c_void_p]),
    "aclrtMalloc": (c_int32, [POINTER(c_void_p), c_size_t, c_int32]),
    "aclrtFree": (c_int32, [c_void_p]),
    "aclrtMemcpy": (c_int32, [c_void_p, c_size_t, c_void_p, c_size_t, c_int32]),
    "aclCreateTensor": (
        c_void_p,
        [
            POINTER(c_int64),
            c_uint64,
            c_int32,
            POINTER(c_int64),
            c_int64,
            c_int32,
            POINTER(c_int64),
            c_uint64,
            c_void_p,
        ],
    ),
    "aclCreateIntArray": (c_void_p, [POINTER(c_int64), c_uint64]),
    "aclCreateBoolArray": (c_void_p, [POINTER(c_bool), c_uint64]),
    "aclDestroyTensor": (c_int32, [c_void_p]),
    "aclDestroyIntArray": (c_int32, [c_void_p]),
    "aclDestroyBoolArray": (c_int32, [c_void_p]),
}
"""Functions that no run can do without: name -> (result, arguments)."""
OPTIONAL: Mapping[str, Signature] = {
    "aclnnInit": (c_int32, [c_char_p]),
    "aclGetRecentErrMsg": (c_char_p, []),
    "aclrtGetSocName": (c_char_p, []),
    "aclsysGetVersionStr": (c_int32, [c_char_p, c_char_p]),
}
"""Functions that a runtime may not have."""
SECOND_PHASE: Signature = (c_int32, [c_void_p, c_uint64, c_void_p, c_void_p])
"""``aclnnX``: workspace, its size, executor, stream."""
SCALARS: Mapping[str, type] = {"bool": c_bool, "int8": c_int8, "int32": c_int32, "int64": c_int64}


@dataclass(frozen=True, slots=True)
class TensorArgument:
    """What ``aclCreateTensor`` takes, in numbers: ``dtype`` and ``format`` as the ABI spells
    them.
    """

    shape: tuple[int, ...]
    dtype: int
    format: int
    strides: tuple[int, ...] | None
    offset: int
    storage: tuple[int, ...]


def first_phase(kinds: Sequence[str]) -> Signature:
    """``aclnnXGetWorkspaceSize``: one argument per parameter, then the workspace's size and the
    executor.
    """
    own = [SCALARS.get(kind, c_void_p) for kind in kinds]
    return c_int32, [*own, POINTER(c_uint64), POINTER(c_void_p)]


def integers(values: Sequence[int]) -> ctypes.Array[c_int64]:
    """An array of int64, a valid pointer even where it is empty."""
    return (c_int64 * max(len(values), 1))(*values)


def make_argument(
    functions: Mapping[str, CFunction],
    owner: ExitStack,
    kind: str,
    value: ArgumentValue,
    address: int | None = None,
) -> object:
    """One argument of a first phase by the kind of its parameter; None becomes a null pointer.

    ``owner`` destroys the C object that is made for it. RuntimeError where the ABI makes none.
    """

    def create(noun: str, *arguments: object) -> int:
        pointer: int | None = functions[f"aclCreate{noun}"](*arguments)
        if not pointer:
            raise RuntimeError(f"aclCreate{noun} returned a null pointer")
        owner.callback(functions[f"aclDestroy{noun}"], pointer)
        return pointer

    if kind in SCALARS or value is None:
        return value
    if isinstance(value, TensorArgument):
        return create(
            "Tensor",
            integers(value.shape),
            len(value.shape),
            value.dtype,
            None if value.strides is None else integers(value.strides),
            value.offset,
            value.format,
            integers(value.storage),
            len(value.storage),
            address,
        )
    assert isinstance(value, tuple)
    if kind == "bool_array":
        array = (c_bool * max(len(value), 1))(*map(bool, value))
        return create("BoolArray", array, len(value))
    return create("IntArray", integers(value), len(value))


def text(pointer: bytes | None) -> str:
    """A C string, whatever its bytes."""
    return (pointer or b"").decode("utf-8", "replace").strip()


def version(function: CFunction | None, package: str) -> str:
    """What ``aclsysGetVersionStr`` says of a package; empty where it knows none."""
    buffer = ctypes.create_string_buffer(256)
    known = function is not None and function(package.encode(), buffer) == 0
    return text(buffer.value) if known else ""
