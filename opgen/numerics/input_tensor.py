"""An input to be filled: what its data have to fit, and how fine their grid may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, isfinite, prod
from typing import Literal, TypeAlias

import numpy as np

from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES, format_of

Role: TypeAlias = Literal[
    "gradient", "operand", "centre", "scale", "argument", "index", "whole", "saved"
]
"""What a tensor is to its operator: the incoming gradient; a factor; group norm's ``mean``; its
positive ``rstd``; what a function is evaluated at; whole numbers that choose; whole numbers that
are computed with; what the forward kept, which the kernel computes of the others."""


@lru_cache(maxsize=4096)
def grid_bits(depth: int, storage: str, compute: str, factors: int = 2) -> int:
    """Significant bits of grid data, so that sums of ``depth`` products of ``factors`` values are
    exact in float64.

    ``depth * 2**(factors * bits) <= 2**53``, and no more bits than storage and compute dtype hold
    (nor than 30, which the 32-bit lanes of the random stream can fill). The four factors of group
    norm, ``dy * gamma * (x - mean) * rstd``, fit from 5 bits on: rstd is a power of two and leaves
    room for the carry of the difference.

    >>> grid_bits(4096, "FLOAT", "FLOAT"), grid_bits(4096, "FLOAT", "FLOAT", factors=4)
    (20, 10)
    >>> grid_bits(4096, "BFLOAT16", "BFLOAT16")
    8
    """
    room = (53 - (max(depth, 1) - 1).bit_length()) // factors
    return max(1, min(room, 30, format_of(storage).digits, format_of(compute).digits))


@dataclass(frozen=True, slots=True)
class InputTensor:
    """One tensor to be filled, the same for every case of a batch.

    ``name`` is the vendor's, and keys the random stream. ``depth`` is the largest
    accumulation depth of the case, ``factors`` how many tensors are multiplied in one term.
    ``range`` bounds grid, integers, normal, scales and arguments; an end that is infinite is as far
    from the other as data without a range reach. Grid data without one are below ``2**scale``.
    ``places`` are the flat positions of what stands alone: the one of ``one_hot``, by default
    anywhere, or what is or becomes non-finite, by default in the middle of all spatial axes, far
    from padding. ``thresholds`` are arguments at which a function changes.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    compute: str
    depth: int = 1
    role: Role = "operand"
    factors: int = 2
    range: tuple[float, float] | None = None
    scale: int = 0
    thresholds: tuple[float, ...] = ()
    places: Array | None = field(default=None, compare=False)

    @property
    def parts(self) -> int:
        """How many real numbers an element is: a complex one two."""
        return 2 if DTYPES[self.dtype].complex else 1

    @property
    def count(self) -> int:
        """How many real numbers all elements are."""
        return prod(self.shape) * self.parts

    @property
    def bits(self) -> int:
        return grid_bits(self.depth, self.dtype, self.compute, self.factors)

    def span(self, most: float) -> tuple[float, float]:
        """The range, where data that keep to none are from ``-most`` to ``most``."""
        low, high = self.range or (-inf, inf)
        return (
            low if isfinite(low) else min(-most, high - most),
            high if isfinite(high) else max(most, low + most),
        )

    def candidates(self) -> Array:
        """Flat positions for what must not meet padding."""
        if self.places is not None:
            return self.places
        if 0 in self.shape:
            return np.empty(0, dtype=np.int64)
        middle = tuple(
            slice(None) if axis < 2 else extent // 2 for axis, extent in enumerate(self.shape)
        )
        return np.asarray(np.arange(prod(self.shape)).reshape(self.shape)[middle]).reshape(-1)


def grid(tensor: InputTensor) -> tuple[int, int, int]:
    """(low, high, exponent): grid values are ``step * 2**exponent`` for a step low..high.

    Spans ``tensor.range``, by default -1..1 times ``2**tensor.scale``. A range narrower than the
    grid makes the grid finer, up to the digits that the dtypes hold; a sum may then need splitting.
    """
    return _grid(tensor.dtype, tensor.compute, tensor.bits, *tensor.span(2.0**tensor.scale))


@lru_cache(maxsize=4096)
def _grid(dtype: str, to: str, bits: int, low: float, high: float) -> tuple[int, int, int]:
    storage, compute = format_of(dtype), format_of(to)
    largest, digits = min(storage.max, compute.max), min(storage.digits, compute.digits)
    a, b = Fraction(min(max(low, -largest), largest)), Fraction(max(min(high, largest), -largest))
    top = max(abs(a), abs(b)) or Fraction(1)
    finest = max(form.low - form.digits + 1 for form in (storage, compute))
    while True:
        exponent = max(_ceil_log2(top) - bits, finest)
        quantum = Fraction(2) ** exponent
        first, last = ceil(a / quantum), floor(b / quantum)
        if first <= last:
            return first, last, exponent
        if bits >= digits:
            return last, last, exponent
        bits += 1


def _ceil_log2(value: Fraction) -> int:
    return (ceil(value) - 1).bit_length() if value > 1 else 1 - floor(1 / value).bit_length()
