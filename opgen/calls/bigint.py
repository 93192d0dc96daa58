"""Integer columns that never wrap.

Extents go up to 2^63 and rules multiply them. A column is an int64 array for as long as its
magnitudes allow it; an operation whose result could leave int64 is done on Python integers (an
object array) instead, which is exact and slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_LOW, _HIGH = -(2**63), 2**63 - 1


def as_column(values: Any) -> np.ndarray:
    """An int64 array of ``values``, or an object array of Python integers where one does not
    fit.
    """
    try:
        return np.asarray(values, dtype=np.int64)
    except OverflowError:
        return np.asarray(values, dtype=object)


def broadcast(a: np.ndarray, rows: int) -> np.ndarray:
    """A column as it is, a constant as a column of ``rows`` that is not written to."""
    return a if a.shape == (rows,) else np.broadcast_to(a, rows)


def widened(matrix: np.ndarray, width: int, fill: int = 1) -> np.ndarray:
    """The same rows with one number behind them: a Python integer where the others are, since
    numpy's own wrap. The matrix itself where it is as wide.
    """
    if matrix.shape[1] == width:
        return matrix
    result = np.full((len(matrix), width), fill, dtype=matrix.dtype)
    result[:, : matrix.shape[1]] = matrix
    return result


def extremes(a: np.ndarray) -> tuple[int, int]:
    """The smallest and the largest value, as Python integers; (0, 0) of an empty column."""
    if a.size == 1:
        return (int(a.item()),) * 2
    return (
        (int(np.minimum.reduce(a, axis=None)), int(np.maximum.reduce(a, axis=None)))
        if a.size
        else (0, 0)
    )


def narrowed(a: np.ndarray) -> np.ndarray:
    """The same numbers as int64 where all of them fit."""
    low, high = extremes(a)
    return a.astype(np.int64) if low >= _LOW and high <= _HIGH else a


def fits(a: np.ndarray) -> np.ndarray:
    """Of each number whether it fits int64, (...) bool."""
    return np.asarray((a >= _LOW) & (a <= _HIGH), dtype=bool)


def _binary(operate: Callable[[Any, Any], Any]) -> Callable[..., np.ndarray]:
    def apply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if object not in (a.dtype, b.dtype):
            about = np.abs(
                operate(a.astype(np.float64), b.astype(np.float64))
            )  # off by 2^11 at most where it is below 2^62
            if np.maximum.reduce(about, axis=None, initial=0.0) < 2**62:
                return np.asarray(operate(a, b))
        return narrowed(np.asarray(operate(a.astype(object), b.astype(object)), dtype=object))

    return apply


add = _binary(lambda a, b: a + b)
subtract = _binary(lambda a, b: a - b)
multiply = _binary(lambda a, b: a * b)
smaller = _binary(np.minimum)
larger = _binary(np.maximum)


def floor_divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Floor division; where ``b`` is 0 the result is 0 (the caller holds those rows unbound)."""
    return _guarded(a, b, lambda x, y: x // y)


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The remainder with the sign of the divisor; where ``b`` is 0 the result is 0 (the caller
    holds those rows unbound).
    """
    return _guarded(a, b, lambda x, y: x % y)


def _guarded(a: np.ndarray, b: np.ndarray, operate: Callable[[Any, Any], Any]) -> np.ndarray:
    zero = b == 0
    none = not np.count_nonzero(zero)
    safe = b if none else np.where(zero, 1, b)
    if object in (a.dtype, safe.dtype) or (np.count_nonzero(safe == -1) and extremes(a)[0] == _LOW):
        a, safe = a.astype(object), safe.astype(object)
    result = np.asarray(operate(a, safe)) if none else np.where(zero, 0, operate(a, safe))
    return narrowed(result) if result.dtype == object else result


def extreme(matrix: np.ndarray, sizes: np.ndarray, lowest: bool) -> np.ndarray:
    """The smallest or the largest of each row's first ``sizes`` values; anything where there is
    none (the caller holds those unbound).
    """
    inside = np.arange(matrix.shape[1]) < sizes[:, None]
    filled = (
        matrix
        if np.count_nonzero(inside) == inside.size
        else np.where(inside, matrix, matrix[:, :1])
    )
    found = filled.min(axis=1) if lowest else filled.max(axis=1)
    return as_column(found) if found.dtype == object else found


def product_along(a: np.ndarray) -> np.ndarray:
    """The product over the last axis, exact."""
    if a.dtype != object:
        with np.errstate(over="ignore", invalid="ignore"):
            least = np.abs(np.multiply.reduce(a, axis=-1, dtype=np.float64)).max(initial=0)
        if least < 2**62:
            return np.asarray(
                np.multiply.reduce(a, axis=-1)
            )  # what wraps on the way to a number that fits comes back
    result = np.ones(a.shape[:-1], dtype=np.int64)
    for i in range(a.shape[-1]):
        result = multiply(result, a[..., i])
    return result
