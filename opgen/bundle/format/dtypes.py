"""Numbers and types of the bundle: how a dtype lies in HDF5 and in numpy, and the words stored as
small numbers.

The numbers of dtypes and formats are those of ``aclDataType`` and ``aclFormat``, so that a C
program may pass them on unchanged. They belong to the file format: numbers are added, never
changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar

import h5py
import ml_dtypes
import numpy as np

from opgen.model import ANY_ERROR, CRASH, unkept

ALIGNMENT = 64
"""Bytes; every tensor starts on such a boundary."""

DTYPES = {
    "UNDEFINED": -1,
    "FLOAT": 0,
    "FLOAT16": 1,
    "INT8": 2,
    "INT32": 3,
    "UINT8": 4,
    "INT16": 6,
    "UINT16": 7,
    "UINT32": 8,
    "INT64": 9,
    "UINT64": 10,
    "DOUBLE": 11,
    "BOOL": 12,
    "COMPLEX64": 16,
    "COMPLEX128": 17,
    "BFLOAT16": 27,
    "COMPLEX32": 33,
    "HIFLOAT8": 34,
    "FLOAT8_E5M2": 35,
    "FLOAT8_E4M3FN": 36,
}
FORMATS = {
    "UNDEFINED": -1,
    "NCHW": 0,
    "NHWC": 1,
    "ND": 2,
    "NC1HWC0": 3,
    "FRACTAL_Z": 4,
    "HWCN": 16,
    "NDHWC": 27,
    "FRACTAL_NZ": 29,
    "NCDHW": 30,
    "NDC1HWC0": 32,
    "FRACTAL_Z_3D": 33,
    "NC": 35,
    "NCL": 47,
}
ROLES = {"input": 0, "output": 1, "golden": 2, "bound": 3, "places": 4, "sums": 5}
KINDS = {"valid": 0, "invalid": 1, "handwritten": 2, "given": 3}
BUCKETS = {
    "valid": 0,
    "stated": 1,
    "unstated": 2,
    "unsupported_product": 3,
    "disputed": 4,
    "assumed": 5,
}
TEXTS = ("intent", "recipe", "nearest_valid", "compute", "inconclusive")
"""What a case says in words of no list."""
PARAMETER_KINDS = {
    "null": 0,
    "tensor": 1,
    "int_array": 2,
    "bool_array": 3,
    "int": 4,
    "bool": 5,
    "float": 6,
    "string": 7,
    "float_array": 8,
    "scalar": 9,
    "tensor_list": 10,
}
BASES = {"none": 0, "read": 1, "inferred": 2, "observed": 3, "accepted": 4}
REACHES = {"none": 0, "graph": 1, "tiling": 2, "kernel": 3}

CODE_WORDS = {ANY_ERROR: -1, CRASH: -2}
"""Words among the admissible status codes, as they stand in a list of integers; the codes are never
negative."""

_NUMPY: dict[str, np.dtype] = {
    "FLOAT": np.dtype("<f4"),
    "FLOAT16": np.dtype("<f2"),
    "DOUBLE": np.dtype("<f8"),
    "BFLOAT16": np.dtype(ml_dtypes.bfloat16),
    "COMPLEX64": np.dtype("<c8"),
    "COMPLEX128": np.dtype("<c16"),
    "INT8": np.dtype("i1"),
    "INT16": np.dtype("<i2"),
    "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"),
    "UINT8": np.dtype("u1"),
    "UINT16": np.dtype("<u2"),
    "UINT32": np.dtype("<u4"),
    "UINT64": np.dtype("<u8"),
    "BOOL": np.dtype("?"),
}
WORDS = {number: word for word, number in DTYPES.items()}
"""Number of a dtype to its word."""
NAMES = {kind: name for name, kind in _NUMPY.items()}
"""Numpy type of a stored dtype to its name."""


class BundleError(Exception):
    """A bundle or results file cannot be written or read, or cannot hold an argument: one line,
    with the file and the remedy.
    """


def numpy_dtype(name: str) -> np.dtype:
    """The numpy type of a stored dtype (``ml_dtypes.bfloat16`` for BFLOAT16); BundleError where
    data cannot exist.
    """
    try:
        return _NUMPY[name]
    except KeyError:
        raise BundleError(f"cannot store data as {name}; known: {', '.join(_NUMPY)}") from None


Elements = TypeVar("Elements", int, np.ndarray)


def room(elements: Elements, itemsize: Elements | int) -> Elements:
    """The elements that tensors of so many take in their blob, padding included; a number or an
    array of them.
    """
    unit = ALIGNMENT // itemsize
    return -(-elements // unit) * unit


def stored_dtypes() -> tuple[str, ...]:
    """The dtypes that data can have, in the order of their blobs."""
    return tuple(_NUMPY)


@cache
def hdf5_type(name: str) -> h5py.h5t.TypeID:
    """The HDF5 type of a blob; BFLOAT16 is a genuine 16-bit float, complex is h5py's compound of
    ``r`` and ``i``.
    """
    if name != "BFLOAT16":
        return h5py.h5t.py_create(numpy_dtype(name), logical=True)
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_fields(
        15, 7, 8, 0, 7
    )  # sign bit, exponent position and size, mantissa position and size
    kind.set_size(2)
    kind.set_ebias(127)
    return kind


def enum(numbers: Mapping[str, int], base: str) -> np.dtype:
    """A numpy type that h5py stores as an HDF5 enumeration, so that tools print the words."""
    kind: np.dtype = h5py.enum_dtype(dict(numbers), basetype=base)
    return kind


def text(width: int) -> np.dtype:
    """A fixed-width UTF-8 text of ``width`` bytes, padded with NUL."""
    kind: np.dtype = h5py.string_dtype("utf-8", max(width, 1))
    return kind


def named(words: Sequence[str]) -> np.dtype:
    """An enumeration of this file's own words, by position, in the narrowest unsigned type."""
    return enum(
        {word: i for i, word in enumerate(words or ["none"])}, "u1" if len(words) <= 256 else "<u2"
    )


def words_of(dtype: np.dtype) -> dict[int, str]:
    """Number to word of a stored enumeration; empty for any other type."""
    return {number: word for word, number in (h5py.check_enum_dtype(dtype) or {}).items()}


def checked(text: str) -> str:
    """``text``, if HDF5 can keep it: no NUL and no lone surrogate."""
    reason = unkept(text)
    if reason:
        raise BundleError(f"{text!r} {reason}, and a bundle cannot keep it")
    return text
