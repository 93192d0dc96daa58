"""The vendor's C ABI as far as a runner needs it: signatures, and arguments from descriptions.

A signature follows from the kinds of a spec's parameters, so a new operator needs nothing here.
Everything in this module is plain C through ctypes; which library a function comes from is no
concern of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from ctypes import (
    POINTER,
    c_bool,
    c_char_p,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from opgen.calls.kinds import KINDS

ACL_ERROR_REPEAT_INITIALIZE = 100002
ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST = 1, 2
ACL_MEM_MALLOC_HUGE_FIRST = 0

ArgumentValue: TypeAlias = (
    "tuple[float, ...] | float | str | TensorArgument | ScalarArgument | ListArgument | None"
)
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
MAKERS: Mapping[str, Signature] = {
    "aclCreateScalar": (c_void_p, [c_char_p, c_int32]),
    "aclDestroyScalar": (c_int32, [c_void_p]),
    "aclCreateFloatArray": (c_void_p, [POINTER(c_float), c_uint64]),
    "aclDestroyFloatArray": (c_int32, [c_void_p]),
    "aclCreateTensorList": (c_void_p, [POINTER(c_void_p), c_uint64]),
    "aclDestroyTensorList": (c_int32, [c_void_p]),
}
"""Functions for some kinds of parameters, which other runs can do without."""
OPTIONAL: Mapping[str, Signature] = {
    "aclnnInit": (c_int32, [c_char_p]),
    "aclGetRecentErrMsg": (c_char_p, []),
    "aclrtGetSocName": (c_char_p, []),
    "aclsysGetVersionStr": (c_int32, [c_char_p, c_char_p]),
}
"""Functions that a runtime may not have."""
SECOND_PHASE: Signature = (c_int32, [c_void_p, c_uint64, c_void_p, c_void_p])
"""``aclnnX``: workspace, its size, executor, stream."""


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


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """What ``aclCreateScalar`` takes: the bytes of the value, and the ABI's number of the dtype."""

    raw: bytes
    dtype: int


@dataclass(frozen=True, slots=True)
class ListArgument:
    """What ``aclCreateTensorList`` takes: its tensors, None for a null pointer, and the place of
    the first among all tensors and arguments of a call.
    """

    tensors: tuple[TensorArgument | None, ...]
    first: int


def first_phase(kinds: Sequence[str]) -> Signature:
    """``aclnnXGetWorkspaceSize``: one argument per parameter, then the workspace's size and the
    executor.
    """
    own = [getattr(ctypes, KINDS[kind].ctype) for kind in kinds]
    return c_int32, [*own, POINTER(c_uint64), POINTER(c_void_p)]


def needed(apis: Iterable[Iterable[str]]) -> dict[str, Signature]:
    """The functions that calls of some signatures need, given the kinds of their parameters."""
    nouns = {KINDS[kind].noun for kinds in apis for kind in kinds}
    return {
        **RUNTIME,
        **{
            name: each
            for name, each in MAKERS.items()
            if name.removeprefix("aclCreate").removeprefix("aclDestroy") in nouns
        },
    }


def integers(values: Sequence[int]) -> ctypes.Array[c_int64]:
    """An array of int64, a valid pointer even where it is empty."""
    return (c_int64 * max(len(values), 1))(*values)


def make_argument(
    functions: Mapping[str, CFunction],
    owner: ExitStack,
    kind: str,
    value: ArgumentValue,
    addresses: Mapping[int, int] = MappingProxyType({}),
    place: int = 0,
) -> object:
    """One argument of a first phase by the kind of its parameter; None becomes a null pointer.
    ``addresses``: those of tensors, by their places in the call.

    ``owner`` destroys the C object that is made for it. RuntimeError where the ABI makes none.
    """

    def create(noun: str, *arguments: object) -> int:
        pointer: int | None = functions[f"aclCreate{noun}"](*arguments)
        if not pointer:
            raise RuntimeError(f"aclCreate{noun} returned a null pointer")
        owner.callback(functions[f"aclDestroy{noun}"], pointer)
        return pointer

    if KINDS[kind].family == "scalar" or value is None:
        return value.encode() if isinstance(value, str) else value
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
            addresses.get(place),
        )
    if isinstance(value, ListArgument):
        with ExitStack() as tensors:  # the list destroys them, if there is one
            pointers = (c_void_p * max(len(value.tensors), 1))()
            for i, tensor in enumerate(value.tensors):
                place = value.first + i
                made = make_argument(functions, tensors, "tensor", tensor, addresses, place)
                assert made is None or isinstance(made, int)
                pointers[i] = made
            whole = create("TensorList", pointers, len(value.tensors))
            tensors.pop_all()
        return whole
    if isinstance(value, ScalarArgument):
        return create("Scalar", value.raw, value.dtype)
    assert isinstance(value, tuple)
    item = getattr(ctypes, "c_" + KINDS[kind].item.removesuffix("_t"))
    return create(KINDS[kind].noun, (item * max(len(value), 1))(*value), len(value))


def text(pointer: bytes | None) -> str:
    """A C string, whatever its bytes."""
    return (pointer or b"").decode("utf-8", "replace").strip()


def version(function: CFunction | None, package: str) -> str:
    """What ``aclsysGetVersionStr`` says of a package; empty where it knows none."""
    buffer = ctypes.create_string_buffer(256)
    known = function is not None and function(package.encode(), buffer) == 0
    return text(buffer.value) if known else ""
