"""How far a correct device may be from a golden, element by element, in whatever order it adds.

A sum of products in which no term passes more than T roundings of unit roundoff u has ``|sum -
exact| <= gamma_T * sum|term|`` with ``gamma_T = T u / (1 - T u)``, for every order and every
association, fused or not (Higham 2002, 3.1). To this come the rounding of the output, a rounding on
the way where the device stores in its compute dtype first, and subnormals, which a device may flush
to zero. Every step is rounded up, so the bound itself is never too small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from opgen.numerics.arrays import BLOCK, Array, blocks, joined, reals
from opgen.numerics.formats import FORMATS, Format
from opgen.numerics.rounding_model import UP, RoundingModel

VERSION = 1
"""Raised by hand whenever a bound has other bits; a test sees to it."""

CONCLUSIVE = 2.0**-4
"""An element proves something where its bound is below this share of its golden. An output without
such elements lets pass what is wrong by as much."""

ALONE = 1 << 12
"""Elements of an output from which on it gains nothing from company."""


def gamma(depth: Array | int, unit: float) -> Array:
    """``depth * unit / (1 - depth * unit)`` rounded up; Inf where the theory ends, at ``depth *
    unit >= 1``.

    >>> bool(4096 * 2.0**-24 < gamma(4096, 2.0**-24) < 4098 * 2.0**-24)
    True
    """
    total = np.multiply(depth, unit)
    with np.errstate(divide="ignore"):
        return np.where(total < 1.0, total / (1.0 - total) * UP, np.inf)


def bound(
    golden: Array,
    magnitude: Array,
    depth: int,
    output: str,
    accumulator: str | None = None,
    *,
    through: str | None = None,
    quantum: float | None = None,
    share: Array | None = None,
    gain: float = 1.0,
) -> Array:
    """The largest ``|device - golden|`` of a correct device: FLOAT, rounded up; complex64 by parts
    for complex goldens.

    ``golden`` and ``magnitude`` are float64 (complex128, by parts) of the same shape; ``magnitude``
    is the sum of ``|term|``, ``depth`` the longest chain of roundings. ``accumulator`` is FLOAT, or
    DOUBLE for DOUBLE and COMPLEX128. ``through`` is the dtype a result is stored in before it is
    cast to ``output``. ``quantum``: every term is a multiple of it; where ``magnitude`` then fits
    the accumulator's digits, sums are exact in any order and only the output rounds. ``share`` is
    how far sums are apart if a device reads inputs otherwise, as zeros if they are subnormal
    (:func:`opgen.numerics.optional_rounding.share`). ``gain`` is the largest factor that an
    intermediate value is multiplied by afterwards (rstd in group norm).

    The reference is the golden as it is kept, rounded to its own dtype. Inf where a correct device
    may overflow; 0 where the golden is Inf or NaN, which must be met exactly.
    """
    if share is not None and np.iscomplexobj(golden) and not np.iscomplexobj(share):
        share = share * (1 + 1j)  # a real share counts for both parts
    sums = Sums([golden], [magnitude], None if share is None else [share])
    limits = Limits.of([golden.size], [depth], [quantum], [gain])
    result = np.empty(golden.shape, dtype=np.complex64 if sums.complex else np.float32)
    with np.errstate(all="ignore"):  # Inf and NaN are meant
        for place, _, limit in bounded(
            RoundingModel.of(output, accumulator, through), sums, limits
        ):
            result.reshape(-1).view(np.float32)[place] = limit
    return result


class Sums(NamedTuple):
    """Outputs one after the other, each as :func:`bound` takes it; all or none have shares."""

    golden: Sequence[Array]
    magnitude: Sequence[Array]
    share: Sequence[Array] | None = None

    @property
    def complex(self) -> bool:
        """Whether each element is two real numbers."""
        return np.iscomplexobj(self.golden[0])

    @property
    def contiguous(self) -> list[list[Array]]:
        """All three in one piece each, so that no piece of a long one copies it."""
        return [list(map(np.ascontiguousarray, arrays or ())) for arrays in self]


@dataclass(frozen=True, slots=True)
class Limits:
    """What :func:`bound` is told of outputs that stand one after the other, and how many elements
    each has: (outputs,) each.
    """

    sizes: Array
    depth: Array
    quantum: Array
    gain: Array

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        depth: Sequence[int],
        quantum: Sequence[float | None],
        gain: Sequence[float],
    ) -> Limits:
        """From what each output is given; a quantum that is None becomes NaN."""
        return cls(
            np.array(sizes), np.array(depth), np.array(quantum, dtype=np.float64), np.array(gain)
        )

    def numbers(self, form: Format) -> list[Array]:
        """What the roundings of our own sum multiply a magnitude by; gamma of our sum, and of the
        device's; what flushing may cost; the largest magnitudes up to which the device's sum is
        exact, ours is, and the device's is although it flushes.
        """
        own, grown = gamma(self.depth, FORMATS["DOUBLE"].unit), gamma(self.depth, form.unit)
        flush = 2.0 * self.depth * form.min_normal * self.gain * (1.0 + grown)
        flush = np.fmin(flush, FORMATS["DOUBLE"].max)  # which no mask makes NaN
        exact, ours = (
            np.where(np.isnan(self.quantum), 0.0, 2.0**digits * self.quantum)
            for digits in (form.digits, 53)
        )
        return [
            1.0 + 2.0 * own,
            own,
            grown,
            flush,
            exact,
            ours,
            np.where(self.quantum >= form.min_normal, exact, 0.0),
        ]

    def pieces(self) -> Iterator[tuple[slice, slice, slice]]:
        """Short pieces of all elements, with the outputs that each is of, and which of their
        elements: some of a long output's, or all of as many short ones as have room.
        """
        first = start = end = 0
        for output, size in enumerate(self.sizes.tolist()):
            if first < output and (size >= ALONE or end + size - start > BLOCK):
                if start < end:
                    yield slice(start, end), slice(first, output), slice(None)
                first, start = output, end
            if size >= ALONE:
                for piece in blocks(size):
                    place = slice(end + piece.start, end + piece.stop)
                    yield place, slice(output, output + 1), piece
                first, start = output + 1, end + size
            end += size
        if start < end:
            yield slice(start, end), slice(first, len(self.sizes)), slice(None)

    def spread(self, numbers: Array, outputs: slice) -> list[Array]:
        """The ``numbers`` (kinds, outputs) of some outputs, a column per kind, with one for each
        element; without axes where it is the same for all.
        """
        first, *others = numbers.T[outputs]
        if not others:
            return list(first)
        some, counts = numbers[:, outputs], self.sizes[outputs]
        several = (some[:, 1:] != some[:, :1]).any(axis=1).tolist()
        return [
            np.repeat(column, counts) if more else column[0]
            for column, more in zip(some, several, strict=True)
        ]


def bounded(
    model: RoundingModel, sums: Sums, limits: Limits
) -> Iterator[tuple[slice, Array, Array]]:
    """:func:`bound` of several outputs that are written in the same formats, piece by piece, while
    it stays in cache: a slice of all real numbers, their goldens, their bounds. Small ones cost
    less together.
    """
    return _in_pieces(model.bound, sums, limits, limits.numbers(model.sum))


def certain_overflows(model: RoundingModel, sums: Sums, limits: Limits) -> Array:
    """Where every correct device returns Inf although the golden, which is real, is finite: keep it
    as Inf there, bound 0. Flat.
    """
    certain = np.empty(limits.sizes.sum(), dtype=bool)
    with np.errstate(all="ignore"):
        for place, _, over in _in_pieces(
            model.certain_overflow, sums, limits, limits.numbers(model.sum)
        ):
            certain[place] = over
    return certain


def _in_pieces(
    steps: Callable[..., Array], sums: Sums, limits: Limits, numbers: Sequence[Array]
) -> Iterator[tuple[slice, Array, Array]]:
    """Pieces of all real numbers, their goldens, and what ``steps`` makes of them."""
    golden, magnitude, share = sums.contiguous
    if sums.complex:
        limits = replace(limits, sizes=2 * limits.sizes)
    table, nothing = np.array(numbers), np.zeros(())
    for place, some, within in limits.pieces():
        values = reals(joined(golden[some]))[within]
        # no shares are a 0 for all
        moved = reals(joined(share[some]))[within] if share else nothing
        yield (
            place,
            values,
            steps(
                values,
                reals(joined(magnitude[some]))[within],
                moved,
                *limits.spread(table, some),
            ),
        )
