"""What a device's value can be after the formats that it passes through: summed in one, rounded to
others after that.

Evaluates blocks of real numbers. Every step is rounded up, so that what comes out is never too
small.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES, FORMATS, Format
from opgen.numerics.rounding import binade, rounded

UP = 1.0 + 2.0**-40
"""More than all float64 roundings of one evaluation of a bound."""
_NEGLIGIBLE = 2.0**-64
"""What flushing subnormals may cost is far below it, and makes no other whole number of one."""


@dataclass(frozen=True, slots=True)
class _Sum:
    """What is known of a device's value: within ``radius`` of ``centre``, or flushed to zero, or
    beyond all bounds where it is not ``bounded``.
    """

    centre: Array
    radius: Array
    vanishes: Array
    bounded: Array


@dataclass(frozen=True, slots=True)
class RoundingModel:
    """The formats that a result passes through: where a sum is accumulated, those it is rounded to
    after that, one after the other, and the one that the golden is kept in. ``whole``: the least
    and the largest number that an output of whole numbers holds. ``numbers`` are those of
    :meth:`opgen.numerics.bounds.Limits.numbers`.
    """

    sum: Format
    written: tuple[Format, ...]
    kept: str
    whole: tuple[int, int] | None = None

    @classmethod
    @cache
    def of(cls, output: str, accumulator: str | None, through: str | None) -> RoundingModel:
        """The rounding model of an output. Formats that round nothing away are left out of
        ``written``. What is made whole numbers of is computed in FLOAT, where ``accumulator`` says
        nothing else.
        """
        facts = DTYPES[output]
        part = facts.part.name
        double = part == "DOUBLE" and through != "FLOAT" and not facts.whole
        start = previous = FORMATS[accumulator or ("DOUBLE" if double else "FLOAT")]
        written = []
        for form in [FORMATS[name] for name in (through, part) if name is not None]:
            if (
                form.digits < previous.digits
                or form.low > previous.low
                or form.high < previous.high
            ):
                written.append(form)
            previous = form
        whole = facts.limits if facts.whole else None
        return cls(start, tuple(written), DTYPES[facts.golden].part.name, whole)

    def _summed(
        self, golden: Array, magnitude: Array, share: Array, numbers: tuple[Array, ...]
    ) -> _Sum:
        scale, own, grown, flush, exact, ours, unflushed = numbers
        magnitude = magnitude * scale  # itself a float64 sum
        # masks multiply: to choose between two numbers where they are mixed takes ten times as long
        radius = magnitude * grown
        radius *= magnitude > exact
        inexact = magnitude > ours
        if inexact.any():
            error = magnitude * own
            error *= inexact
            radius += error
        small = magnitude.max() + flush.max() < self.sum.max / 4 and np.max(grown) <= 1.0
        flush = flush * (magnitude > unflushed)
        radius += flush
        radius += share
        radius *= UP
        # not where the magnitude is Inf or NaN
        bounded = small or magnitude * (1.0 + grown) * UP + flush < self.sum.max
        return _Sum(golden, radius, np.zeros((), dtype=bool), np.asarray(bounded))

    def bound(self, golden: Array, magnitude: Array, share: Array, *numbers: Array) -> Array:
        state = self._summed(golden, magnitude, share, numbers)
        for form in self.written:
            state = _rounded_to(form, state)
        if self.whole:
            state = _made_whole(self.whole, state)
        kept = golden if self.kept == "DOUBLE" else rounded(golden, self.kept)
        total = state.radius if kept is state.centre else state.radius + np.abs(state.centre - kept)
        total *= UP
        if state.vanishes.any():
            total = np.where(state.vanishes, np.maximum(total, np.abs(kept)), total)
        bounded = state.bounded & (total < np.inf) & np.isfinite(golden)
        if not bounded.all():
            total = np.where(bounded, total, np.inf)
            met = np.inf if self.whole else 0.0  # no whole number is Inf or NaN
            total = np.where(np.isfinite(golden), total, met)
        return _up(total)

    def certain_overflow(
        self, golden: Array, magnitude: Array, share: Array, *numbers: Array
    ) -> Array:
        state = self._summed(golden, magnitude, share, numbers)
        certain = np.zeros(golden.shape, dtype=bool)
        for form in self.written:
            edge = form.max + form.half_ulp_at_max
            certain |= np.abs(state.centre) >= (edge + state.radius) * UP
            state = _rounded_to(form, state)
        return certain & np.isfinite(golden) & np.isfinite(magnitude)


def _up(values: Array) -> Array:
    """To float32, upwards; not negative, no NaN."""
    result = values.astype(np.float32)
    bits = result.view(np.int32)
    bits += result < values
    return result


def _made_whole(limits: tuple[int, int], state: _Sum) -> _Sum:
    """What whole numbers a device may make of a value: where it is known and whole itself, else
    those around all that it may be. Nobody says what becomes of one beyond the limits, nor is one
    told from the next from 2**53 on.
    """
    known = (state.radius < _NEGLIGIBLE) & (np.floor(state.centre) == state.centre)
    below = np.floor(np.nextafter(state.centre - state.radius, -np.inf))
    above = np.ceil(np.nextafter(state.centre + state.radius, np.inf))
    low, high = np.where(known, state.centre, below), np.where(known, state.centre, above)
    radius = np.maximum(high - state.centre, state.centre - low)
    least, largest = max(limits[0], 1 - 2**53), min(limits[1], 2**53 - 1)
    bounded = state.bounded & (low >= least) & (high <= largest)
    return _Sum(state.centre, radius * np.where(known, 1.0, UP), state.vanishes, bounded)


def _rounded_to(form: Format, state: _Sum) -> _Sum:
    """Round to nearest, or flush to zero what lies below the smallest normal.

    An exact sum rounds to a known value. Otherwise the error is half a unit in the last place of
    the largest value that the sum may have, which may lie in the next binade; and never more than
    the value, since 0 is representable.
    """
    size = np.abs(state.centre)
    largest = (size + state.radius) * UP
    half = np.minimum(binade(largest, form.low) * 2.0**-form.digits, largest)
    exact = state.radius == 0
    centre = np.where(exact, rounded(state.centre, form.name), state.centre)
    radius = np.where(exact, 0.0, (state.radius + half) * UP)
    vanishes = state.vanishes | (
        size < np.where(exact, form.min_normal, (form.min_normal + state.radius) * UP)
    )
    bounded = state.bounded & ~(largest >= form.max + form.half_ulp_at_max)
    return _Sum(centre, radius, vanishes, bounded)
