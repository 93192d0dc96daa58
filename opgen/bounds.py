"""How far a correct device may be from a golden, element by element, in whatever order it adds.

A sum of products in which no term passes more than T roundings of unit roundoff u has ``|sum - exact| <= gamma_T *
sum|term|`` with ``gamma_T = T u / (1 - T u)``, for every order and every association, fused or not (Higham 2002, 3.1).
To this come the rounding of the output, a rounding on the way where the device stores in its compute dtype first, and
subnormals, which a device may flush to zero. Every step is rounded up, so the bound itself is never too small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgen.numerics import DTYPES, FORMATS, Array, Format, binade, in_blocks, rounded

_UP = 1.0 + 2.0**-40  # more than all float64 roundings of one evaluation here

Golden = Callable[[Mapping[str, Any], Mapping[str, int], Any], Mapping[str, Array]]


def gamma(depth: int, unit: float) -> float:
    """``depth * unit / (1 - depth * unit)`` rounded up; Inf where the theory ends, at ``depth * unit >= 1``.

    >>> 4096 * 2.0**-24 < gamma(4096, 2.0**-24) < 4098 * 2.0**-24
    True
    """
    total = depth * unit
    return total / (1.0 - total) * _UP if total < 1.0 else float("inf")


@dataclass(frozen=True, slots=True)
class _Sum:
    """What is known of a device's value: within ``radius`` of ``centre``, or flushed to zero, or beyond all bounds."""

    centre: Array
    radius: Array
    vanishes: Array
    unbounded: Array


def bound(
    golden: Array,
    magnitude: Array,
    depth: int,
    output: str,
    accumulator: str | None = None,
    *,
    through: str | None = None,
    quantum: float | None = None,
    flushed: Array | None = None,
    gain: float = 1.0,
) -> Array:
    """The largest ``|device - golden|`` of a correct device: FLOAT, rounded up; complex64 by parts for complex goldens.

    ``golden`` and ``magnitude`` are float64 (complex128, by parts) of the same shape; ``magnitude`` is the sum of
    ``|term|``, ``depth`` the longest chain of roundings. ``accumulator`` is FLOAT, or DOUBLE for DOUBLE and COMPLEX128.
    ``through`` is the dtype a result is stored in before it is cast to ``output``. ``quantum``: every term is a
    multiple of it; where ``magnitude`` then fits the accumulator's digits, sums are exact in any order and only the
    output rounds. ``flushed`` is the magnitude of the terms with a subnormal factor (:func:`flushed_magnitude`).
    ``gain`` is the largest factor that an intermediate value is multiplied by afterwards (rstd in group norm).

    The reference is the golden as it is kept, rounded to its own dtype. Inf where a correct device may overflow; 0
    where the golden is Inf or NaN, which must be met exactly.
    """
    flushed = np.zeros(()) if flushed is None else flushed
    limits = _Limits(depth, output, accumulator, through, quantum, gain)
    with np.errstate(all="ignore"):  # Inf and NaN are meant
        if not np.iscomplexobj(golden):
            return in_blocks(limits.bound, np.float32, golden, magnitude, flushed)
        result = np.empty(golden.shape, dtype=np.complex64)
        result.real = in_blocks(limits.bound, np.float32, *map(np.real, (golden, magnitude, flushed)))
        imag = [part.imag if np.iscomplexobj(part) else part for part in (golden, magnitude, flushed)]
        result.imag = in_blocks(limits.bound, np.float32, *imag)
        return result


def certain_overflow(
    golden: Array, magnitude: Array, depth: int, output: str, accumulator: str | None = None, through: str | None = None
) -> Array:
    """Where every correct device returns Inf although the golden is finite: keep the golden as Inf there, bound 0."""
    limits = _Limits(depth, output, accumulator, through, None, 1.0)
    with np.errstate(all="ignore"):
        return in_blocks(limits.certain_overflow, np.bool_, golden, magnitude, np.zeros(()))


def flushed_magnitude(
    magnitude: Golden,
    tensors: Mapping[str, Array | None],
    names: Mapping[str, int],
    wanted: Any,
    formats: Mapping[str, str],
) -> dict[str, Array] | None:
    """Sum of ``|term|`` over terms with a subnormal factor, for :func:`bound`; None where no input is subnormal.

    ``magnitude`` is that of an operator linear in each tensor; ``formats`` names the format that each is read in.
    With every subset of the subnormal inputs flushed to zero, no output moves by more.
    """
    total: dict[str, Array] | None = None
    for name, values in tensors.items():
        if values is None or name not in formats:
            continue
        form = DTYPES[formats[name]].part if formats[name] in DTYPES else FORMATS[formats[name]]
        parts = np.asarray(values, order="C").view(np.float64)
        small = (np.abs(parts) < form.min_normal) & (parts != 0)
        if small.any():
            only = np.where(small, parts, 0.0).view(values.dtype)
            share = magnitude({**tensors, name: only}, names, wanted)
            total = {key: share[key] + (total[key] if total else 0.0) for key in share}
    return total


@dataclass(frozen=True, slots=True)
class _Limits:
    """The arguments that are alike for all elements, and the evaluation on one block of real numbers."""

    depth: int
    output: str
    accumulator: str | None
    through: str | None
    quantum: float | None
    gain: float

    def _summed(self, golden: Array, magnitude: Array, flushed: Array) -> _Sum:
        name = self.accumulator or ("DOUBLE" if DTYPES[self.output].part.name == "DOUBLE" else "FLOAT")
        form, fine = FORMATS[name], FORMATS["DOUBLE"]
        own = gamma(self.depth, fine.unit)
        magnitude = magnitude * (1.0 + 2.0 * own)  # itself a float64 sum
        grown = gamma(self.depth, form.unit)
        flush = np.where(magnitude > 0, 2.0 * self.depth * form.min_normal * self.gain * (1.0 + grown), 0.0)
        radius = grown * magnitude
        ours = own * magnitude
        if self.quantum is not None:
            exact = magnitude <= 2.0**form.digits * self.quantum
            radius = np.where(exact, 0.0, radius)
            ours = np.where(magnitude <= 2.0**fine.digits * self.quantum, 0.0, ours)
            flush = np.where(exact & (self.quantum >= form.min_normal), 0.0, flush)
        radius = (radius + ours + flush + flushed) * _UP
        unbounded = ~(magnitude * (1.0 + grown) * _UP + flush < form.max)  # also where the magnitude is Inf or NaN
        return _Sum(golden, radius, np.zeros(golden.shape, dtype=bool), unbounded)

    def _written(self) -> list[Format]:
        """The formats that the sum is rounded to, one after the other, without those that change nothing."""
        previous = FORMATS[self.accumulator or "FLOAT"]
        if DTYPES[self.output].part.name == "DOUBLE" and self.accumulator is None:
            previous = FORMATS["DOUBLE"]
        steps = []
        for name in (self.through, DTYPES[self.output].part.name):
            if name is not None:
                form = FORMATS[name]
                if form.digits < previous.digits or form.low > previous.low or form.high < previous.high:
                    steps.append(form)
                previous = form
        return steps

    def bound(self, golden: Array, magnitude: Array, flushed: Array) -> Array:
        state = self._summed(golden, magnitude, flushed)
        for form in self._written():
            state = _rounded_to(form, state)
        kept = rounded(golden, DTYPES[DTYPES[self.output].golden].part.name)
        total = (state.radius + np.abs(state.centre - kept)) * _UP
        total = np.where(state.vanishes, np.maximum(total, np.abs(kept)), total)
        total = np.where(state.unbounded | np.isnan(total), np.inf, total)
        total = np.where(np.isfinite(golden), total, 0.0)
        result = total.astype(np.float32)
        return np.where(result < total, np.nextafter(result, np.float32(np.inf)), result)

    def certain_overflow(self, golden: Array, magnitude: Array, flushed: Array) -> Array:
        state = self._summed(golden, magnitude, flushed)
        certain = np.zeros(golden.shape, dtype=bool)
        for form in self._written():
            edge = form.max + form.half_ulp_at_max
            certain |= np.abs(state.centre) >= (edge + state.radius) * _UP
            state = _rounded_to(form, state)
        return certain & np.isfinite(golden) & np.isfinite(magnitude)


def _rounded_to(form: Format, state: _Sum) -> _Sum:
    """Round to nearest, or flush to zero what lies below the smallest normal.

    An exact sum rounds to a known value. Otherwise the error is half a unit in the last place of the largest value that
    the sum may have, which may lie in the next binade; and never more than the value, since 0 is representable.
    """
    size = np.abs(state.centre)
    largest = (size + state.radius) * _UP
    half = np.minimum(binade(largest, form.low) * 2.0**-form.digits, largest)
    exact = state.radius == 0
    centre = np.where(exact, rounded(state.centre, form.name), state.centre)
    radius = np.where(exact, 0.0, (state.radius + half) * _UP)
    vanishes = state.vanishes | (size < (form.min_normal + state.radius) * _UP)
    unbounded = state.unbounded | (largest >= form.max + form.half_ulp_at_max)
    return _Sum(centre, radius, vanishes, unbounded)
