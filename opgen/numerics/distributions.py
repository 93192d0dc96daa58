"""Ways to draw the numbers of a tensor from random bits.

A way turns lanes of 32 random bits into float64 by integer operations and exact scaling only, so
that numpy's releases cannot change a value.
"""

from __future__ import annotations

from functools import partial
from math import ceil, floor, frexp, inf, isfinite, isqrt

import numpy as np

from opgen.numerics import periodic
from opgen.numerics.arrays import Array
from opgen.numerics.draw import Draw, Values, between, from_steps, nonzero, scaled
from opgen.numerics.formats import format_of
from opgen.numerics.input_tensor import InputTensor, grid
from opgen.numerics.rounding import rounded, ulp

_EXACT_SUM = {"FLOAT16": 2**15, "DOUBLE": 2**52}  # largest |sum| of integers; 2**24 elsewhere
# a scale is 2**-2 ... 2**2; up to 1 where FLOAT16 takes part, since the cube of a larger one would
# leave its range
_SCALE = 2
_REACH = 6.0
"""What no everyday value exceeds."""
_ARGUMENTS = (-12, -8, -6, -4, -3, -2, -2, -1, -1, 0, 0, 1, 1, 2, 3, 5)
"""Exponents of the arguments of functions, one in sixteen each."""


def _grid(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
    return from_steps(lanes[0], *grid(tensor))


def _small(tensor: InputTensor) -> tuple[int, int]:
    """The least and the largest of the integers whose sums are exact; no integer lies between where
    the tensor's range holds none.
    """
    total = min(
        _EXACT_SUM.get(format_of(name).name, 2**24) for name in (tensor.dtype, tensor.compute)
    )
    most = min(2**tensor.bits, 255)
    while most > 1 and max(tensor.depth, 1) * most**tensor.factors > total:
        most -= 1
    low, high = tensor.span(most)
    return ceil(max(low, -most)), floor(min(high, most))


def _integer_steps(tensor: InputTensor) -> tuple[int, int, int]:
    low, high = _small(tensor)
    return (low, high, 0) if low <= high else grid(tensor)


def _integers(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
    return from_steps(lanes[0], *_integer_steps(tensor))


def _integer_quantum(tensor: InputTensor) -> float:
    return 2.0 ** _integer_steps(tensor)[2]


def _normal(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
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
    values = scaled(total, -32)
    if tensor.range is not None:
        largest = min(format_of(tensor.dtype).max, format_of(tensor.compute).max)
        low, high = (min(max(end, -largest), largest) for end in tensor.span(_REACH))
        values = np.clip(values * ((high - low) / 8) + (high + low) / 2, low, high)
    return rounded(values, tensor.dtype)


def _wide(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
    """Full significands at 32 exponents around 1; at 11 up to 1 where FLOAT16 takes part."""
    low, high = (-10, 0) if "FLOAT16" in (tensor.dtype, tensor.compute) else (-16, 15)
    digits = min(format_of(tensor.dtype).digits, 30)
    whole = between(lanes[0], 2 ** (digits - 1), 2**digits - 1)
    exponents = between(lanes[1] >> np.uint64(1) << np.uint64(1), low, high) - (digits - 1)
    negative = (lanes[1] & np.uint64(1)).astype(bool)
    return np.ldexp(
        np.where(negative, -whole, whole).astype(np.float64), exponents.astype(np.int32)
    )


def _near_one(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
    top = 2**tensor.bits
    return scaled(top - between(lanes[0], 0, isqrt(top)), -tensor.bits)


def _alternating(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
    """The sign of a checkerboard over all axes: neighbours along any of them cancel."""
    return np.asarray(_near_one(lanes, choice, tensor) * (1 - 2 * (periodic.places(tensor, 0) & 1)))


def _repeated(lanes: Array, choice: Array, tensor: InputTensor, cycle: Array) -> Array:
    """A cycle of numbers along every axis, from where ``choice`` says; integers where a range is
    given.
    """
    if tensor.range is not None:
        return _integers(lanes, choice, tensor)
    first = (choice % np.uint64(len(cycle))).astype(np.int64)
    return np.asarray(
        cycle[(first[:, None] + periodic.places(tensor, 1)) % len(cycle)], dtype=np.float64
    )


def _subnormal_quantum(tensor: InputTensor) -> float:
    return max(format_of(tensor.dtype).min_subnormal, format_of(tensor.compute).min_subnormal)


def _subnormals(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
    """Below the smallest normal of the narrower range of storage and compute dtype."""
    narrower = min(
        format_of(tensor.dtype),
        format_of(tensor.compute),
        key=lambda form: (-form.low, form.digits),
    )
    most = 2 ** min(narrower.digits - 1, tensor.bits) - 1
    return nonzero(lanes[0], -most, most).astype(np.float64) * _subnormal_quantum(tensor)


def _exponents(tensor: InputTensor) -> range:
    """Of the powers of two that a scale may be; none where its range holds no power of two."""
    most = 0 if "FLOAT16" in (tensor.dtype, tensor.compute) else _SCALE
    low, high = tensor.range or (-inf, inf)
    if low <= 0 and high == inf:
        return range(-_SCALE, most + 1)
    low, high = tensor.span(2.0**most)
    form = min(format_of(tensor.dtype), format_of(tensor.compute), key=lambda form: form.max)
    top = frexp(min(high, form.max))[1] - 1 if high > 0 else form.low - 1
    significand, exponent = frexp(low)
    bottom = exponent - (significand == 0.5) if low > 0 else top - 2 * _SCALE
    return range(max(bottom, form.low), top + 1)


def _powers(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
    exponents = _exponents(tensor)
    if not exponents:
        return _grid(lanes, choice, tensor)
    return np.ldexp(1.0, between(lanes[0], exponents[0], exponents[-1]).astype(np.int32))


def _power_quantum(tensor: InputTensor) -> float:
    exponents = _exponents(tensor)
    return 2.0 ** exponents[0] if exponents else _step(tensor)


def _fixed(value: int) -> Values:
    """All alike."""
    return lambda lanes, choice, tensor: np.full(lanes.shape[1:], float(value))


def _one_hot(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
    values = np.zeros((len(choice), tensor.count))
    if tensor.count:
        parts = tensor.parts
        places = (
            tensor.places
            if tensor.places is not None and len(tensor.places)
            else np.arange(tensor.count // parts)
        )
        which, part = np.divmod((choice % np.uint64(len(places) * parts)).astype(np.int64), parts)
        values[np.arange(len(choice)), places[which] * parts + part] = 1.0
    return values


def _planted(lanes: Array, choice: Array, tensor: InputTensor, kinds: tuple[float, ...]) -> Array:
    """Grid data with up to ``len(kinds)`` foreign values, each at a candidate place of its own."""
    values = _grid(lanes, choice, tensor)
    places = tensor.candidates() * tensor.parts
    number = min(len(kinds), len(places))
    rows = np.arange(len(choice))
    for k in range(number):
        place = (
            choice % np.uint64(len(places)) + np.uint64(k * (len(places) // number))
        ) % np.uint64(len(places))
        kind = ((choice >> np.uint64(32)) + np.uint64(k)) % np.uint64(len(kinds))
        values[rows, places[place.astype(np.int64)]] = np.array(kinds)[kind.astype(np.int64)]
    return values


def _argument(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
    """All digits, where functions bend and where they no longer do; one in four at a threshold of
    the operator, or just below or above it. What is beyond the one end of a range is reflected.
    """
    ends = tensor.range or (-inf, inf)
    if all(map(isfinite, ends)):
        return _grid(lanes, choice, tensor)
    digits = format_of(tensor.dtype).digits
    whole = between(lanes[0], 2 ** (digits - 1), 2**digits - 1)
    exponents = np.array(_ARGUMENTS, dtype=np.int32)[lanes[1] & np.uint64(15)] - (digits - 1)
    negative = (lanes[1] >> np.uint64(4) & np.uint64(1)).astype(bool)
    values: Array = np.ldexp(np.where(negative, -whole, whole).astype(np.float64), exponents)
    form, centres = format_of(tensor.dtype), rounded(np.array(tensor.thresholds), tensor.dtype)
    steps = np.maximum(ulp(centres, form.name), form.min_normal)
    near = np.concatenate([centres - steps, centres, centres + steps])
    near = near[np.isfinite(near)]
    if len(near):
        chosen = near[(lanes[1] >> np.uint64(7)) % np.uint64(len(near))]
        values = np.where(lanes[1] >> np.uint64(5) & np.uint64(3), values, chosen)
    for end, beyond in zip(ends, (np.less, np.greater), strict=True):
        values = np.where(beyond(values, end), rounded(2 * end - values, form.name), values)
    return values


_nonfinite = partial(_planted, kinds=(np.inf, -np.inf, np.nan))
_overflow = partial(_planted, kinds=(65536.0, -65536.0, 2.0**17 * 1.5))


def _step(tensor: InputTensor) -> float:
    return 2.0 ** grid(tensor)[2]


GRID = Draw(1, _grid, _step, steps=grid)
INTEGERS = Draw(
    1,
    _integers,
    _integer_quantum,
    lambda tensor: (tensor.dtype, tensor.compute, tensor.depth, tensor.factors, tensor.range),
    steps=_integer_steps,
)
NORMAL = Draw(7, _normal)
WIDE = Draw(2, _wide)
ALTERNATING = Draw(1, _alternating, lambda tensor: 2.0**-tensor.bits, None)
NEAR_ONE = Draw(1, _near_one, lambda tensor: 2.0**-tensor.bits)
BALANCED = Draw(1, partial(_repeated, cycle=periodic.BALANCED), _integer_quantum, None)
TWO_OR_THREE = Draw(1, partial(_repeated, cycle=periodic.TWO_OR_THREE), _integer_quantum, None)
SUBNORMALS = Draw(1, _subnormals, _subnormal_quantum)
ZEROS = Draw(0, _fixed(0), lambda tensor: 1.0)
ONES = Draw(0, _fixed(1), lambda tensor: 1.0)
ONE_HOT = Draw(0, _one_hot, lambda tensor: 1.0, None, sparse=True)
NONFINITE = Draw(1, _nonfinite, _step, None, sparse=True, planted=True)
OVERFLOW = Draw(1, _overflow, _step, None, sparse=True, planted=True)
ARGUMENT = Draw(
    2,
    _argument,
    key=lambda tensor: (tensor.dtype, tensor.compute, tensor.bits, tensor.range, tensor.thresholds),
)
POWERS = Draw(1, _powers, _power_quantum)
