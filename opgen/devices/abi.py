"""The vendor's C ABI as far as a runner needs it: signatures, and arguments from descriptions.

A signature follows from the kinds of a spec's parameters, so a new operator needs nothing here.
Everything in this module is plain C through ctypes; which library a function comes from is no
concern of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
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
from typing import Any, TypeAlias

ACL_ERROR_REPEAT_INITIALIZE = 100002
ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST = 1, 2
ACL_MEM_MALLOC_HUGE_FIRST = 0

Values: TypeAlias = "tuple[int, ...] | int | bool | TensorArgument | None"

RUNTIME: Mapping[str, tuple[Any, list[Any]]] = {
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
OPTIONAL: Mapping[str, tuple[Any, list[Any]]] = {
    "aclrtDestroyStream": (c_int32, [c_void_p]),
    "aclrtResetDevice": (c_int32, [c_int32]),
    "aclFinalize": (c_int32, []),
    "aclnnInit": (c_int32, [c_char_p]),
    "aclGetRecentErrMsg": (c_char_p, []),
    "aclrtGetSocName": (c_char_p, []),
    "aclsysGetVersionStr": (c_int32, [c_char_p, c_char_p]),
}
"""Functions that a runtime may not have."""
SCALARS: Mapping[str, Any] = {"bool": c_bool, "int8": c_int8, "int32": c_int32, "int64": c_int64}


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


def declare(functions: Mapping[str, Any], signatures: Mapping[str, tuple[Any, list[Any]]]) -> None:
    """Give functions their types; those that are None are left out."""
    for name, (result, arguments) in signatures.items():
        if functions.get(name) is not None:
            functions[name].restype, functions[name].argtypes = result, arguments


def first_phase(function: Any, kinds: Sequence[str]) -> Any:
    """The types of ``aclnnXGetWorkspaceSize``: one per parameter, then the workspace's size and the
    executor.
    """
    function.restype = c_int32
    function.argtypes = [
        *(SCALARS.get(kind, c_void_p) for kind in kinds),
        POINTER(c_uint64),
        POINTER(c_void_p),
    ]
    return function


def second_phase(function: Any) -> Any:
    """The types of ``aclnnX``: workspace, its size, executor, stream."""
    function.restype, function.argtypes = c_int32, [c_void_p, c_uint64, c_void_p, c_void_p]
    return function


def integers(values: Sequence[int]) -> Any:
    """An array of int64, a valid pointer even where it is empty."""
    return (c_int64 * max(len(values), 1))(*values)


class Arguments:
    """The arguments of one first phase: C objects made, and destroyed when the block ends."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self._functions = functions
        self._made: list[tuple[str, int]] = []

    def __enter__(self) -> Arguments:
        return self

    def __exit__(self, *_: object) -> None:
        for kind, pointer in reversed(self._made):
            self._functions[f"aclDestroy{kind}"](pointer)
        self._made.clear()

    def make(self, kind: str, value: Values, address: int | None = None) -> Any:
        """One argument by the kind of its parameter; None becomes a null pointer. RuntimeError
        where the ABI makes none.
        """
        if kind in SCALARS:
            return value
        if value is None:
            return None
        if isinstance(value, TensorArgument):
            strides = None if value.strides is None else integers(value.strides)
            view = (
                integers(value.shape),
                len(value.shape),
                value.dtype,
                strides,
                value.offset,
                value.format,
            )
            return self._keep("Tensor", *view, integers(value.storage), len(value.storage), address)
        assert isinstance(value, tuple)
        if kind == "bool_array":
            return self._keep(
                "BoolArray", (c_bool * max(len(value), 1))(*map(bool, value)), len(value)
            )
        return self._keep("IntArray", integers(value), len(value))

    def _keep(self, kind: str, *arguments: Any) -> int:
        pointer = self._functions[f"aclCreate{kind}"](*arguments)
        if not pointer:
            raise RuntimeError(f"aclCreate{kind} returned a null pointer")
        self._made.append((kind, pointer))
        return int(pointer)


def text(pointer: bytes | None) -> str:
    """A C string, whatever its bytes."""
    return (pointer or b"").decode("utf-8", "replace").strip()


def version(function: Any, package: str) -> str:
    """What ``aclsysGetVersionStr`` says of a package; empty where it knows none."""
    found = ctypes.create_string_buffer(256)
    return (
        text(found.value) if function is not None and function(package.encode(), found) == 0 else ""
    )
