"""Data recipes: how the numbers of a case are made from random bits, and what fault each recipe finds.

A recipe is a table entry: one way to draw the gradient that flows in, one way to draw everything else. A way turns
32-bit lanes into float64 by integer operations and exact scaling only, so that numpy's releases cannot change a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isqrt, prod
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from opgen.numerics import DTYPES, FORMATS, Array, Format

Role: TypeAlias = Literal["gradient", "operand", "centre", "scale"]
"""What a tensor is to its operator: the incoming gradient; a factor; group norm's ``mean``; its positive ``rstd``."""

_EXACT_SUM = {"FLOAT16": 2**15, "DOUBLE": 2**52}  # largest |sum| of the integers recipe; 2**24 elsewhere
_POWERS = 2  # a scale is 2**-2 ... 2**2


def grid_bits(depth: int, storage: str, compute: str, factors: int = 2) -> int:
    """Significant bits of grid data, so that sums of ``depth`` products of ``factors`` values are exact in float64.

    ``depth * 2**(factors * bits) <= 2**53``, and no more bits than storage and compute dtype hold. The four factors of
    group norm, ``dy * gamma * (x - mean) * rstd``, fit as well: rstd, a power of two, leaves room for the difference.

    >>> grid_bits(4096, "FLOAT", "FLOAT"), grid_bits(4096, "BFLOAT16", "BFLOAT16"), grid_bits(4096, "FLOAT", "FLOAT", 4)
    (20, 8, 10)
    """
    room = (53 - (max(depth, 1) - 1).bit_length()) // factors
    return max(1, min(room, 30, DTYPES[storage].part.digits, _part(compute).digits))


def _part(dtype: str) -> Format:
    return DTYPES[dtype].part if dtype in DTYPES else FORMATS[dtype]


@dataclass(frozen=True, slots=True)
class Slot:
    """One tensor to be filled, the same for every case of a batch.

    ``tensor`` is the vendor's name and keys the random stream. ``depth`` is the largest accumulation depth of the case,
    ``factors`` how many tensors are multiplied in one term. ``multiple_of`` makes values multiples of an integer, where
    bits allow (a divisor that comes before a sum). ``range`` bounds grid, integers and normal. ``places`` are the flat
    positions that may turn non-finite or overflow; by default the middle of all spatial axes, far from padding.
    """

    tensor: str
    shape: tuple[int, ...]
    dtype: str
    compute: str
    depth: int = 1
    role: Role = "operand"
    factors: int = 2
    multiple_of: int = 1
    range: tuple[float, float] | None = None
    places: tuple[int, ...] | None = None

    @property
    def count(self) -> int:
        """How many real numbers: a complex element counts twice."""
        return prod(self.shape) * (2 if DTYPES[self.dtype].complex else 1)

    @property
    def bits(self) -> int:
        return grid_bits(self.depth, self.dtype, self.compute, self.factors)

    @property
    def multiple(self) -> int:
        """The odd part of ``multiple_of`` (halving is exact anyway), or 1 where it leaves fewer than two steps."""
        odd = self.multiple_of // (self.multiple_of & -self.multiple_of)
        return odd if 2 * odd <= 2**self.bits else 1

    def candidates(self) -> Array:
        """Flat positions for what must not meet padding."""
        if self.places is not None:
            return np.array(self.places, dtype=np.int64)
        middle = tuple(slice(None) if axis < 2 else extent // 2 for axis, extent in enumerate(self.shape))
        return np.asarray(np.arange(prod(self.shape)).reshape(self.shape)[middle]).reshape(-1)


Values: TypeAlias = Callable[[Array, Array, Slot], Array]
"""(uint32 lanes (B, lanes, count), one uint64 choice (B,), slot) -> float64 (B, count)."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A way to draw one tensor, and how many 32-bit lanes it takes per value."""

    lanes: int
    values: Values


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is drawn for the incoming gradient and for other tensors; ``finds`` says in one line which fault it finds.

    ``on_grid``: one golden call is exact whatever its order; otherwise operands must be split (:mod:`opgen.exact`).
    """

    name: str
    finds: str
    gradient: Draw
    operand: Draw
    centre: Draw
    scale: Draw
    on_grid: bool = True

    def draw(self, role: Role) -> Draw:
        return {"gradient": self.gradient, "operand": self.operand, "centre": self.centre, "scale": self.scale}[role]


def applies(recipe: str, storage: str, compute: str) -> bool:
    """Whether a recipe says anything for these dtypes: overflow needs a compute dtype narrower than the storage."""
    return recipe != "overflow" or (compute == "FLOAT16" and storage != "FLOAT16")


# ---- from lanes to values -------------------------------------------------------------------------------------------


def _between(lane: Array, low: int, high: int) -> Array:
    """Integers low..high, both included: the high half of lane * count; at most 2**32 of them."""
    steps = lane.astype(np.uint64)
    steps *= np.uint64(high - low + 1)
    steps >>= np.uint64(32)
    whole: Array = steps.view(np.int64)
    whole += low
    return whole


def _nonzero(lane: Array, low: int, high: int) -> Array:
    """The same without 0, so that no term of a sum is lost."""
    if low < 0 < high:
        whole = _between(lane, low, high - 1)
        whole += whole >= 0
        return whole
    return _between(lane, low + (low == 0 < high), high - (high == 0 > low))


def _scaled(whole: Array, exponent: int) -> Array:
    values = whole.astype(np.float64)
    values *= 2.0**exponent
    return values


@lru_cache(maxsize=4096)
def grid(slot: Slot) -> tuple[int, int, int]:
    """(low, high, exponent): grid values are ``step * multiple * 2**exponent`` for a step low..high."""
    low, high = slot.range or (-1.0, 1.0)
    largest = min(DTYPES[slot.dtype].part.max, _part(slot.compute).max)
    a, b = Fraction(max(low, -largest)), Fraction(min(high, largest))
    top = max(abs(a), abs(b)) or Fraction(1)
    digits = min(DTYPES[slot.dtype].part.digits, _part(slot.compute).digits)
    bits = slot.bits
    while True:
        exponent = _ceil_log2(top) - bits
        quantum = Fraction(2) ** exponent * slot.multiple
        first, last = ceil(a / quantum), floor(b / quantum)
        if first <= last or bits >= digits:
            return first, max(first, last), exponent
        bits += 1  # a range narrower than the grid


def _ceil_log2(value: Fraction) -> int:
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent + (Fraction(2) ** exponent < value)


def _grid(lanes: Array, choice: Array, slot: Slot) -> Array:
    low, high, exponent = grid(slot)
    whole = _nonzero(lanes[:, 0], low, high)
    if slot.multiple != 1:
        whole *= slot.multiple
    return _scaled(whole, exponent)


def _integers(lanes: Array, choice: Array, slot: Slot) -> Array:
    part = DTYPES[slot.dtype].part
    total = min(_EXACT_SUM.get(name, 2**24) for name in (part.name, _part(slot.compute).name))
    step = slot.multiple_of if slot.depth * slot.multiple_of <= total and slot.multiple_of < 2**slot.bits else 1
    most = total // (max(slot.depth, 1) * step)
    most = min(isqrt(most) if slot.factors == 2 else most, 2**slot.bits // step, 255) or 1
    low, high = slot.range or (-most, most)
    low, high = max(ceil(low), -most), min(floor(high), most)
    whole = _nonzero(lanes[:, 0], low, high) if low <= high else np.ones_like(lanes[:, 0], dtype=np.int64)
    whole *= step
    return whole.astype(np.float64)


def _powers(lanes: Array, choice: Array, slot: Slot) -> Array:
    exponents = _between(lanes[:, 0], -_POWERS, _POWERS)
    return np.ldexp(1.0, exponents.astype(np.int32))


def _fixed(value: int) -> Values:
    """All alike; a one is one multiple, so that a division before the sum stays exact."""

    def values(lanes: Array, choice: Array, slot: Slot) -> Array:
        return np.full((len(choice), slot.count), float(value * slot.multiple))

    return values


GRID, INTEGERS, POWERS = Draw(1, _grid), Draw(1, _integers), Draw(1, _powers)
ZEROS, ONES = Draw(0, _fixed(0)), Draw(0, _fixed(1))

RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            Recipe("grid", "wrong indices, weights and missing terms, with no rounding in the golden to hide behind",
                   GRID, GRID, GRID, POWERS),
            Recipe("integers", "any arithmetic error: sums are exact in float32, the device must match bit for bit",
                   INTEGERS, INTEGERS, INTEGERS, POWERS),
            Recipe("zeros", "outputs left unwritten or not cleared before accumulation",
                   ZEROS, GRID, GRID, POWERS),
            Recipe("ones", "windows counted wrongly at borders: every output is its number of contributions",
                   ONES, ONES, ZEROS, ONES),
        )
    }
)  # fmt: skip
"""Recipes by name; ``grid`` is the default."""
