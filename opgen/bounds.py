"""How far a correct device may be from a golden, element by element, in whatever order it adds.

A sum of products in which no term passes more than T roundings of unit roundoff u has ``|sum - exact| <= gamma_T *
sum|term|`` with ``gamma_T = T u / (1 - T u)``, for every order and every association, fused or not (Higham 2002, 3.1).
To this come the rounding of the output, a rounding on the way where the device stores in its compute dtype first, and
subnormals, which a device may flush to zero. Every step is rounded up, so the bound itself is never too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from opgen.numerics import DTYPES, FORMATS, Array, Format, binade, in_blocks, rounded

_UP = 1.0 + 2.0**-40  # more than all float64 roundings of one evaluation here


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
    limits = Limits(depth, output, accumulator, through, quantum, gain)
    return bounds([limits], [golden], [magnitude], [flushed])[0]


def bounds(
    limits: Sequence[Limits], goldens: Sequence[Array], magnitudes: Sequence[Array], flushed: Sequence[Array | None]
) -> list[Array]:
    """:func:`bound` of several outputs that are written in the same formats, all at once: small ones cost less together."""
    kind = np.complex64 if np.iscomplexobj(goldens[0]) else np.float32
    shares = flushed if any(part is not None for part in flushed) else [None]
    with np.errstate(all="ignore"):  # Inf and NaN are meant
        found = in_blocks(limits[0].formats.bound, np.float32, *_joined(limits, goldens, magnitudes, shares)).view(kind)
    ends = np.cumsum([golden.size for golden in goldens]).tolist()
    return [found[end - golden.size : end].reshape(golden.shape) for end, golden in zip(ends, goldens, strict=True)]


def certain_overflow(
    golden: Array, magnitude: Array, depth: int, output: str, accumulator: str | None = None, through: str | None = None
) -> Array:
    """Where every correct device returns Inf although the golden is finite: keep the golden as Inf there, bound 0."""
    limits = Limits(depth, output, accumulator, through)
    with np.errstate(all="ignore"):
        found = in_blocks(limits.formats.certain_overflow, np.bool_, *_joined([limits], [golden], [magnitude], [None]))
    return found.reshape(golden.shape)


def _joined(
    limits: Sequence[Limits], goldens: Sequence[Array], magnitudes: Sequence[Array], flushed: Sequence[Array | None]
) -> list[Array]:
    """Goldens, magnitudes and flushed magnitudes flat and by parts, then the numbers of their limits per element."""
    shares = [np.zeros(()) if part is None else _like(part, golden) for part, golden in zip(flushed, goldens, strict=False)]
    columns = np.array([one.numbers for one in limits]).T
    if len(limits) > 1:
        columns = np.repeat(columns, [golden.size * (1 + np.iscomplexobj(golden)) for golden in goldens], axis=1)
    else:
        columns = columns[:, 0]
    return [_flat(goldens), _flat(magnitudes), _flat(shares), *columns]


def _flat(arrays: Sequence[Array]) -> Array:
    flats = [np.ascontiguousarray(array).reshape(-1).view(np.float64) for array in arrays]
    return flats[0] if len(flats) == 1 else np.concatenate(flats)


def _like(share: Array, golden: Array) -> Array:
    """A real share counts for both parts of a complex golden."""
    return share * (1 + 1j) if np.iscomplexobj(golden) and not np.iscomplexobj(share) else share


@dataclass(frozen=True, slots=True)
class Limits:
    """What :func:`bound` is told of an output; see there."""

    depth: int
    output: str
    accumulator: str | None = None
    through: str | None = None
    quantum: float | None = None
    gain: float = 1.0

    @property
    def formats(self) -> _Formats:
        """The formats that a sum passes through."""
        return _formats(self.output, self.accumulator, self.through)

    @property
    def numbers(self) -> tuple[float, ...]:
        """gamma of our own float64 sum and of the device's; what flushing may cost; then the largest magnitudes up to which
        the device's sum is exact, ours is, and the device's is although it flushes; -1 where none is."""
        form = self.formats.sum
        own, grown = gamma(self.depth, FORMATS["DOUBLE"].unit), gamma(self.depth, form.unit)
        flush = 2.0 * self.depth * form.min_normal * self.gain * (1.0 + grown)
        if self.quantum is None:
            return own, grown, flush, -1.0, -1.0, -1.0
        exact, ours = 2.0**form.digits * self.quantum, 2.0 ** FORMATS["DOUBLE"].digits * self.quantum
        return own, grown, flush, exact, ours, exact if self.quantum >= form.min_normal else -1.0


@dataclass(frozen=True, slots=True)
class _Formats:
    """Where a sum is accumulated, what it is rounded to, and what the golden is kept in; evaluates blocks of real numbers."""

    sum: Format
    written: tuple[Format, ...]
    kept: str

    def _summed(self, golden: Array, magnitude: Array, flushed: Array, numbers: tuple[Array, ...]) -> _Sum:
        own, grown, flush, exact, exact_ours, unflushed = numbers
        magnitude = magnitude * (1.0 + 2.0 * own)  # itself a float64 sum
        flush = np.where((magnitude > 0) & ~(magnitude <= unflushed), flush, 0.0)
        radius = np.where(magnitude <= exact, 0.0, grown * magnitude)
        ours = np.where(magnitude <= exact_ours, 0.0, own * magnitude)
        unbounded = ~(magnitude * (1.0 + grown) * _UP + flush < self.sum.max)  # also where the magnitude is Inf or NaN
        radius = (radius + ours + flush + flushed) * _UP
        return _Sum(golden, radius, np.zeros(golden.shape, dtype=bool), unbounded)

    def bound(self, golden: Array, magnitude: Array, flushed: Array, *numbers: Array) -> Array:
        whole = not self.written and self.kept == "DOUBLE" and magnitude.size
        if whole and magnitude.max() < self.sum.max / 4 and numbers[2].max() < np.inf and flushed.max() < np.inf:
            return _up(self._nothing_rounded(magnitude, flushed, numbers))
        state = self._summed(golden, magnitude, flushed, numbers)
        for form in self.written:
            state = _rounded_to(form, state)
        kept = rounded(golden, self.kept)
        total = (state.radius + np.abs(state.centre - kept)) * _UP
        total = np.where(state.vanishes, np.maximum(total, np.abs(kept)), total)
        total = np.where(state.unbounded | np.isnan(total), np.inf, total)
        total = np.where(np.isfinite(golden), total, 0.0)
        return _up(total)

    def _nothing_rounded(self, magnitude: Array, flushed: Array, numbers: tuple[Array, ...]) -> Array:
        """The same with fewer steps, for finite values whose sum is the output and whose golden is kept as it is."""
        own, grown, flush, exact, exact_ours, unflushed = numbers
        magnitude = magnitude * (1.0 + 2.0 * own)
        total = (grown * magnitude) * (magnitude > exact)
        total += (own * magnitude) * (magnitude > exact_ours)
        total += flush * (magnitude > np.maximum(unflushed, 0.0))
        total += flushed
        total *= _UP
        total *= _UP
        beyond = ~(magnitude * (1.0 + grown) * _UP + flush < self.sum.max)
        return np.where(beyond, np.inf, total) if beyond.any() else total

    def certain_overflow(self, golden: Array, magnitude: Array, flushed: Array, *numbers: Array) -> Array:
        state = self._summed(golden, magnitude, flushed, numbers)
        certain = np.zeros(golden.shape, dtype=bool)
        for form in self.written:
            edge = form.max + form.half_ulp_at_max
            certain |= np.abs(state.centre) >= (edge + state.radius) * _UP
            state = _rounded_to(form, state)
        return certain & np.isfinite(golden) & np.isfinite(magnitude)


def _up(values: Array) -> Array:
    """To float32, upwards; not negative, no NaN."""
    result = values.astype(np.float32)
    bits = result.view(np.int32)
    bits += result < values
    return result


@cache
def _formats(output: str, accumulator: str | None, through: str | None) -> _Formats:
    """The formats that the sum is rounded to are those of ``written``, one after the other, without what changes nothing."""
    part = DTYPES[output].part.name
    start = previous = FORMATS[accumulator or ("DOUBLE" if part == "DOUBLE" else "FLOAT")]
    written = []
    for form in [FORMATS[name] for name in (through, part) if name is not None]:
        if form.digits < previous.digits or form.low > previous.low or form.high < previous.high:
            written.append(form)
        previous = form
    return _Formats(start, tuple(written), DTYPES[DTYPES[output].golden].part.name)


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
