"""How far a correct device is likely to be from a golden, where its bound says how far it may be.

The bound counts T roundings as if all had one sign. Those that are independent and of mean zero
amount to about sqrt(T) of one: ``lambda sqrt(T) u`` in place of ``T u`` (Higham and Mary 2019). A
device that cuts digits off errs to one side, by ``T u`` of the partial sums: these are about as
large as the golden where all terms have one sign, and about sqrt(T) of a term where signs are
mixed. So the share of a bound that is likely is ``lambda / sqrt(T) + |golden| / sum|term|``, and
never more than all of it. Nothing is claimed of what else a bound holds: the rounding of the
output, inputs that may be read in two ways, flushed numbers.

With ``lambda`` = 4 and roundings of variance ``u**2 / 3``, a sum of any data passes it about once
in 2e11 times; the tests add in sequence, in blocks, in pairs and with digits cut off. Nothing is
claimed of data whose terms are not independent, of either sign and of about one size: given data
may be sorted, and what cuts digits off errs at every small term that it adds to a large one.
"""

from __future__ import annotations

import numpy as np

from opgen.numerics.arrays import Array, by_parts
from opgen.numerics.bounds import gamma
from opgen.numerics.rounding import binade
from opgen.numerics.rounding_model import RoundingModel

FACTOR = 4.0
"""Lambda: how many times sqrt(T) roundings an error is likely to stay below."""

RECIPES = frozenset({"grid", "normal"})
"""The recipes whose terms are as this asks."""


def likely_error(
    limit: Array,
    golden: Array,
    magnitude: Array,
    depth: int,
    output: str,
    *,
    through: str | None = None,
) -> Array:
    """The largest error that rounding is likely to make, at most ``limit``; of complex outputs by
    parts.

    ``limit`` is the bound, all arrays are float64 (complex128) of one shape;
    :func:`opgen.numerics.bounds.bound` explains the others. Where the golden or the bound is not
    finite, it is the bound.

    >>> from opgen.numerics.bounds import bound
    >>> golden, magnitude = np.array([0.0, 1000.0]), np.array([1000.0, 1000.0])
    >>> limit = bound(golden, magnitude, 1024, "FLOAT").astype(np.float64)
    >>> (likely_error(limit, golden, magnitude, 1024, "FLOAT") / limit).round(3).tolist()
    [0.125, 1.0]
    """
    model = RoundingModel.of(output, None, through)

    def part(limit: Array, golden: Array, magnitude: Array) -> Array:
        size = np.abs(golden)
        with np.errstate(all="ignore"):
            summed = limit
            for form in model.written:
                summed = summed - binade(size + limit, form.low) * form.unit
            summed = np.clip(gamma(depth, model.sum.unit) * magnitude, 0.0, np.maximum(summed, 0.0))
            share = np.minimum(FACTOR / np.sqrt(depth) + size / magnitude, 1.0)
            result = limit - (1.0 - share) * summed
        return np.where(np.isfinite(result), result, limit)

    return by_parts(part, limit, golden, magnitude)
