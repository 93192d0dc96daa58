"""Ways to draw the numbers of a tensor from random bits.

A way turns lanes of 32 random bits into float64 by integer operations and exact scaling only, so
that numpy's releases cannot change a value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, frexp, isqrt
from typing import TypeAlias

import numpy as np

from opgen.numerics.arrays import Array
from opgen.numerics.formats import format_of
from opgen.numerics.rounding import rounded
from opgen.numerics.slot import Slot, grid

Values: TypeAlias = Callable[[Array, Array, Slot], Array]
"""(lanes (lanes, B, count) and one choice (B,), both uint64, slot) -> float64 (B, count)."""

_EXACT_SUM = {"FLOAT16": 2**15, "DOUBLE": 2**52}  # largest |sum| of integers; 2**24 elsewhere
# a scale is 2**-2 ... 2**2; up to 1 where FLOAT16 takes part, since the cube of a larger one would
# leave its range
_SCALE = 2


@dataclass(frozen=True, slots=True)
class Draw:
    """A way to draw one tensor: its 32-bit lanes per value, and what all its finite values are
    multiples of.

    Tensors whose slots have the same ``key`` are drawn alike, each value from its own lanes alone,
    whatever the shape; without a key, values depend on where they stand. ``sparse``: few of them
    say anything, at places that a kernel may restrict; ``planted``: because they are or become Inf
    or NaN.
    """

    lanes: int
    values: Values
    quantum: Callable[[Slot], float] | None = None
    key: Callable[[Slot], tuple[object, ...]] | None = lambda slot: (
        slot.dtype,
        slot.compute,
        slot.bits,
        slot.range,
        slot.scale,
    )
    sparse: bool = False
    planted: bool = False


def _between(lane: Array, low: int, high: int) -> Array:
    """Integers low..high, both included: the high half of lane * count; at most 2**32 of them."""
    steps = lane * np.uint64(high - low + 1)
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


def _grid(lanes: Array, choice: Array, slot: Slot) -> Array:
    low, high, exponent = grid(slot)
    return _scaled(_nonzero(lanes[0], low, high), exponent)


def _small(slot: Slot) -> tuple[int, int]:
    """The least and the largest of the integers whose sums are exact; no integer lies between where
    the slot's range holds none.
    """
    total = min(_EXACT_SUM.get(format_of(name).name, 2**24) for name in (slot.dtype, slot.compute))
    most = min(2**slot.bits, 255)
    while most > 1 and max(slot.depth, 1) * most**slot.factors > total:
        most -= 1
    low, high = slot.range or (-most, most)
    return ceil(max(low, -most)), floor(min(high, most))


def _integers(lanes: Array, choice: Array, slot: Slot) -> Array:
    low, high = _small(slot)
    if low > high:
        return _grid(lanes, choice, slot)
    return _nonzero(lanes[0], low, high).astype(np.float64)


def _integer_quantum(slot: Slot) -> float:
    low, high = _small(slot)
    return 1.0 if low <= high else _step(slot)


def _normal(lanes: Array, choice: Array, slot: Slot) -> Array:
    """Twelve uniform halves of six lanes have variance 1 and reach 6; the seventh lane fills the
    digits below.
    """
    total = np.zeros(lanes[0].shape, dtype=np.int64)
    for lane in range(6):
        halves = lanes[lane].view(np.int64)
        total += halves & 0xFFFF
        total += halves >> 16
    total -= 6 * 65535
    total <<= 16
    total += lanes[6].view(np.int64) >> 16
    values = _scaled(total, -32)
    if slot.range is not None:
        largest = min(format_of(slot.dtype).max, format_of(slot.compute).max)
        low, high = (min(max(end, -largest), largest) for end in slot.range)
        values = np.clip(values * ((high - low) / 8) + (high + low) / 2, low, high)
    return rounded(values, slot.dtype)


def _wide(lanes: Array, choice: Array, slot: Slot) -> Array:
    """Full significands at 32 exponents around 1; at 11 up to 1 where FLOAT16 takes part."""
    low, high = (-10, 0) if "FLOAT16" in (slot.dtype, slot.compute) else (-16, 15)
    digits = min(format_of(slot.dtype).digits, 30)
    whole = _between(lanes[0], 2 ** (digits - 1), 2**digits - 1)
    exponents = _between(lanes[1] >> np.uint64(1) << np.uint64(1), low, high) - (digits - 1)
    negative = (lanes[1] & np.uint64(1)).astype(bool)
    return np.ldexp(
        np.where(negative, -whole, whole).astype(np.float64), exponents.astype(np.int32)
    )


def _near_one(lanes: Array, choice: Array, slot: Slot) -> Array:
    top = 2**slot.bits
    return _scaled(top - _between(lanes[0], 0, isqrt(top)), -slot.bits)


def _alternating(lanes: Array, choice: Array, slot: Slot) -> Array:
    """The sign of a checkerboard over all axes: neighbours along any of them cancel."""
    parity = np.zeros(slot.shape, dtype=np.int64)
    for axis, extent in enumerate(slot.shape):
        parity += np.arange(extent).reshape(-1, *(1,) * (len(slot.shape) - axis - 1))
    signs = np.repeat((1 - 2 * (parity & 1)).reshape(-1), slot.parts)
    return _near_one(lanes, choice, slot) * signs


def _subnormal_quantum(slot: Slot) -> float:
    return max(format_of(slot.dtype).min_subnormal, format_of(slot.compute).min_subnormal)


def _subnormals(lanes: Array, choice: Array, slot: Slot) -> Array:
    """Below the smallest normal of the narrower range of storage and compute dtype."""
    narrower = min(
        format_of(slot.dtype), format_of(slot.compute), key=lambda form: (-form.low, form.digits)
    )
    most = 2 ** min(narrower.digits - 1, slot.bits) - 1
    return _nonzero(lanes[0], -most, most).astype(np.float64) * _subnormal_quantum(slot)


def _exponents(slot: Slot) -> range:
    """Of the powers of two that a scale may be; none where its range holds no power of two."""
    if slot.range is None:
        return range(-_SCALE, (0 if "FLOAT16" in (slot.dtype, slot.compute) else _SCALE) + 1)
    low, high = slot.range
    form = min(format_of(slot.dtype), format_of(slot.compute), key=lambda form: form.max)
    top = frexp(min(high, form.max))[1] - 1 if high > 0 else form.low - 1
    significand, exponent = frexp(low)
    bottom = exponent - (significand == 0.5) if low > 0 else top - 2 * _SCALE
    return range(max(bottom, form.low), top + 1)


def _powers(lanes: Array, choice: Array, slot: Slot) -> Array:
    exponents = _exponents(slot)
    if not exponents:
        return _grid(lanes, choice, slot)
    return np.ldexp(1.0, _between(lanes[0], exponents[0], exponents[-1]).astype(np.int32))


def _power_quantum(slot: Slot) -> float:
    exponents = _exponents(slot)
    return 2.0 ** exponents[0] if exponents else _step(slot)


def _fixed(value: int) -> Values:
    """All alike."""
    return lambda lanes, choice, slot: np.full(lanes.shape[1:], float(value))


def _one_hot(lanes: Array, choice: Array, slot: Slot) -> Array:
    values = np.zeros((len(choice), slot.count))
    if slot.count:
        parts = slot.parts
        places = (
            slot.places
            if slot.places is not None and len(slot.places)
            else np.arange(slot.count // parts)
        )
        which, part = np.divmod((choice % np.uint64(len(places) * parts)).astype(np.int64), parts)
        values[np.arange(len(choice)), places[which] * parts + part] = 1.0
    return values


def _planted(lanes: Array, choice: Array, slot: Slot, kinds: tuple[float, ...]) -> Array:
    """Grid data with up to ``len(kinds)`` foreign values, each at a candidate place of its own."""
    values = _grid(lanes, choice, slot)
    places = slot.candidates() * slot.parts
    number = min(len(kinds), len(places))
    rows = np.arange(len(choice))
    for k in range(number):
        place = (
            choice % np.uint64(len(places)) + np.uint64(k * (len(places) // number))
        ) % np.uint64(len(places))
        kind = ((choice >> np.uint64(32)) + np.uint64(k)) % np.uint64(len(kinds))
        values[rows, places[place.astype(np.int64)]] = np.array(kinds)[kind.astype(np.int64)]
    return values


_nonfinite = partial(_planted, kinds=(np.inf, -np.inf, np.nan))
_overflow = partial(_planted, kinds=(65536.0, -65536.0, 2.0**17 * 1.5))


def _step(slot: Slot) -> float:
    return 2.0 ** grid(slot)[2]


GRID = Draw(1, _grid, _step)
INTEGERS = Draw(
    1,
    _integers,
    _integer_quantum,
    lambda slot: (slot.dtype, slot.compute, slot.depth, slot.factors, slot.range),
)
NORMAL = Draw(7, _normal)
WIDE = Draw(2, _wide)
ALTERNATING = Draw(1, _alternating, lambda slot: 2.0**-slot.bits, None)
NEAR_ONE = Draw(1, _near_one, lambda slot: 2.0**-slot.bits)
SUBNORMALS = Draw(1, _subnormals, _subnormal_quantum)
ZEROS = Draw(0, _fixed(0), lambda slot: 1.0)
ONES = Draw(0, _fixed(1), lambda slot: 1.0)
ONE_HOT = Draw(0, _one_hot, lambda slot: 1.0, None, sparse=True)
NONFINITE = Draw(1, _nonfinite, _step, None, sparse=True, planted=True)
OVERFLOW = Draw(1, _overflow, _step, None, sparse=True, planted=True)
POWERS = Draw(1, _powers, _power_quantum)
