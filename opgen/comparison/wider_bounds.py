"""Bounds that numeric errata make wider: what a library's results may be where they are only as
good as another dtype, or pass through one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opgen.comparison.recomputation import Recomputation
from opgen.numerics.arrays import Array
from opgen.numerics.bounds import gamma
from opgen.numerics.formats import FORMATS, Format
from opgen.numerics.rounding import binade, rounded
from opgen.oracle.errata import Numeric


@dataclass(frozen=True)
class LibraryResult:
    """An output that a library may have computed: what was ``made`` once more gives ``golden``, and
    the library returned ``device``, of one shape.
    """

    made: Recomputation
    name: str
    dtype: str
    golden: Array
    device: Array

    def bound(self, limit: Array, entries: Sequence[Numeric]) -> Array:
        """The bound of each element, from one that allows for nothing but the page's roundings; Inf
        where any value may stand, 0 where the golden is not finite.
        """
        free = np.zeros(limit.shape, dtype=bool)
        for entry in entries:
            limit, lost = (
                self._cast(limit, FORMATS[entry.through])
                if entry.through
                else self._coarser(limit, entry)
            )
            free |= lost
        return np.where(free, np.inf, np.where(np.isfinite(self.golden), limit, 0.0))

    def _cast(self, limit: Array, form: Format) -> tuple[Array, Array]:
        """The bounds of results that are rounded to a format; and where one overflows there, or is
        flushed to zero below its normal numbers.
        """
        size = np.abs(self.golden)
        largest = size + limit
        flushed = (self.device == 0) & (size < form.min_normal + limit)
        wider = limit + np.minimum(binade(largest, form.low) * form.unit, largest)
        return wider, flushed | self._overflown(limit, form)

    def _coarser(self, limit: Array, entry: Numeric) -> tuple[Array, Array]:
        """The bounds of results that are only as good as another dtype: rounded on the way, or once
        more at its end; and where what is too large for that dtype may have been lost.
        """
        form, size, grown = FORMATS[entry.bound], self.made.magnitude(self.name), self._grown(entry)
        more = np.maximum(grown - size, 0.0)
        again = (more > size * 2.0**-30) | (self.dtype != entry.bound)
        limit = limit + more
        too_large = self._reads_too_large(entry.bound)
        if entry.roundings:
            too_large = too_large | (grown >= form.max)
        lost = self._overflown(limit, form) | (too_large & self._at_an_end(form))
        last = form.unit * (np.abs(self.golden) + limit) + form.min_subnormal / 2
        return limit + np.where(again, last, 0.0), lost

    def _grown(self, entry: Numeric) -> Array:
        """The sum of absolute terms where inputs pass through another dtype on their way, and so do
        the weights of operators that have some.

        Weights are what multiplies a gradient that is no input: 1 / divisor in a pooling. Terms
        that are rounded oftener say how often.
        """
        larger = self.made.with_inputs(lambda values: _through(values, entry.bound))
        times = entry.roundings or (0 if hasattr(self.made.kernel, "PARTNERS") else 1)
        terms = 1 + gamma(times, FORMATS[entry.bound].unit)
        return np.asarray(larger.magnitude(self.name) * terms * (1 + 2.0**-40))

    def _reads_too_large(self, dtype: str) -> Array:
        """Where a term has a finite factor that is too large for a dtype: what becomes of Inf on
        the way cannot be said.
        """
        finite = self.made.with_inputs(
            lambda values: np.where(np.isfinite(values), np.abs(values), 1.0)
        )
        fit = finite.with_inputs(
            lambda values: np.where(np.isfinite(rounded(values, dtype)), values, 0.0)
        )
        return np.asarray(finite.magnitude(self.name) != fit.magnitude(self.name))

    def _overflown(self, limit: Array, form: Format) -> Array:
        """Where a result that may be too large for a format has become Inf there, or its largest
        value, on the side where it overflows.
        """
        highest = np.copysign(1.0, self.device.astype(np.float64)) * self.golden + limit
        beyond = np.isfinite(self.golden) & (highest >= form.max + form.half_ulp_at_max)
        return np.asarray(beyond & self._at_an_end(form) & ~np.isnan(self.device))

    def _at_an_end(self, form: Format) -> Array:
        """Where a device has what overflow in a format leaves: Inf, NaN, or the largest value."""
        size = np.abs(self.device.astype(np.float64))
        return np.asarray(~np.isfinite(self.device) | (size == form.max))


def _through(value: Array, dtype: str) -> Array:
    """The size of each value and of what another dtype takes from it."""
    size = np.abs(value)
    narrow = np.abs(rounded(size, dtype))
    return np.asarray(np.where(np.isfinite(narrow), size + np.abs(size - narrow), size))
