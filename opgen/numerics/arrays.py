"""Arrays in pieces: complex ones by parts, long ones by blocks that stay in cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

BLOCK = 1 << 15
"""Elements of a block: 256 KiB of float64."""


def by_parts(function: Callable[..., Array], *values: Array) -> Array:
    """Apply a function of real arrays to the real and to the imaginary parts; real arrays go
    straight through.

    The result is complex when the first array is.
    """
    if not np.iscomplexobj(values[0]):
        return function(*values)
    real = function(*(v.real for v in values))
    whole = np.empty(real.shape, dtype=np.result_type(real.dtype, np.complex64))
    whole.real = real
    whole.imag = function(*(v.imag for v in values))
    return whole


def reals(array: Array) -> Array:
    """The real numbers of an array, which for complex ones are two each: a view."""
    return array.view(array.real.dtype)


def one_nan(values: Array) -> None:
    """Make every NaN of real numbers the same: which of its bits a sum or a product sets differs
    between processors.
    """
    if values.dtype.kind == "f":
        np.copyto(values, np.nan, where=np.isnan(values))


def turned(array: Array, axes: Sequence[int] | None) -> Array:
    """(B, ...) with the axes behind the first in another order; as it is without ``axes``.

    >>> turned(np.zeros((2, 3, 4, 5)), (1, 2, 0)).shape
    (2, 4, 5, 3)
    """
    if axes is None:
        return array
    return np.ascontiguousarray(array.transpose(0, *[axis + 1 for axis in axes]))


def joined(arrays: Sequence[Array]) -> Array:
    """The elements of arrays of one dtype, flat, one after the other; not to be written to. A
    single one is not copied.
    """
    if len(arrays) == 1:
        return np.ascontiguousarray(arrays[0]).reshape(-1)
    parts: Iterator[Any] = map(np.ascontiguousarray, arrays)
    return np.frombuffer(
        b"".join(parts), dtype=arrays[0].dtype
    )  # takes a third of what np.concatenate does


def blocks(total: int) -> Iterator[slice]:
    """Cuts a range into pieces so small that scratch of their size stays in cache."""
    for start in range(0, total, BLOCK):
        yield slice(start, min(start + BLOCK, total))


def in_blocks(function: Callable[[Array], Array], kind: npt.DTypeLike, values: Array) -> Array:
    """Apply a function of 1-D arrays of float64 a block at a time; the result has the shape of
    ``values``.
    """
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    result = np.empty(flat.size, dtype=kind)
    for piece in blocks(result.size):
        result[piece] = function(flat[piece])
    return result.reshape(values.shape)


@contextmanager
def unbuffered() -> Iterator[None]:
    """Lets ufuncs multiply long rows by a factor each without expanding the factor into a buffer:
    10 to 25 % of ``python -m tests.bench goldens "group norm"``.
    """
    size = np.setbufsize(16)
    try:
        yield
    finally:
        np.setbufsize(size)
