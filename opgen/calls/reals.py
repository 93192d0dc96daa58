"""Real numbers as a call holds them: exact, in the type of their parameter, NaN and -0 among them.

>>> ordinals(np.array([-0.0, 5e-324, np.inf])).tolist()
[0, 1, 9218868437227405312]
"""

from __future__ import annotations

import struct
from math import isfinite

import numpy as np

SPECIAL = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
"""What JSON has no number for: the words that stand there."""


def plain(value: float) -> float | str:
    """A real as JSON writes it: a number, or one of the words :data:`SPECIAL`.

    >>> plain(0.5), plain(-np.inf)
    (0.5, '-inf')
    """
    return value if isfinite(value) else str(value)


def rounded(value: float, dtype: np.dtype) -> float:
    """A number as a type has it; what is too large is infinite.

    >>> rounded(0.1, np.dtype("f4")), rounded(1e39, np.dtype("f4"))
    (0.10000000149011612, inf)
    """
    with np.errstate(over="ignore"):
        return float(np.float64(value).astype(dtype))


def shortest(value: float, dtype: np.dtype) -> str:
    """The fewest digits that a type reads as this number.

    >>> shortest(0.10000000149011612, np.dtype("f4"))
    '0.1'
    """
    return str(dtype.type(value))


def of_bits(bits: int) -> float:
    """The double that has some bits, given as a whole number of 64 bits with a sign."""
    value: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return value


def ordinals(values: np.ndarray) -> np.ndarray:
    """(...) int64: how many steps of ``nextafter`` lead from 0 to each number of a type; NaN lies
    beyond the infinities, and both zeros are 0.
    """
    whole = np.dtype(f"i{values.dtype.itemsize}")
    raw = values.view(whole).astype(np.int64)
    return np.where(raw < 0, np.iinfo(whole).min - np.minimum(raw, 0), raw)


def of_ordinals(numbers: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The numbers of a type that lie so many steps from 0.

    >>> of_ordinals(np.array([1, -1]), np.dtype("f4")).tolist()
    [1.401298464324817e-45, -1.401298464324817e-45]
    """
    whole = np.dtype(f"i{dtype.itemsize}")
    numbers = numbers.astype(np.int64)
    negative = np.iinfo(whole).min - np.minimum(numbers, 0)
    return np.where(numbers < 0, negative, numbers).astype(whole).view(dtype)
