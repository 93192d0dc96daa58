"""Sums of whole outputs with weights of +1 and -1, in which no single wrong element is lost
(Freivalds 1977).

The weight of an element is the product of one sign per axis, so that a sum of products can be
summed before it is multiplied. A single wrong element changes every sum by its error; one of
several that cancel each other is missed by half of the draws.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opgen.numerics.arrays import Array
from opgen.numerics.splitmix import STEP, hashed

DRAWS = 32
"""Sums of an output, each with signs of its own."""
_AXES = 40
"""Bits of a counter below its axis: more than any extent has."""
_PIECE = 1 << 20
"""Elements that are summed at a time."""


def signs(shape: Sequence[int]) -> list[Array]:
    """(draws, extent) of +1 and -1 for each axis: bit ``draw`` of a hashed counter of axis and
    place.
    """
    return [_of_axis(axis, extent) for axis, extent in enumerate(shape)]


def _of_axis(axis: int, extent: int) -> Array:
    counters = np.arange(1, extent + 1, dtype=np.uint64) + np.uint64(axis << _AXES)
    words = hashed(counters * np.uint64(STEP))
    bits = words[None] >> np.arange(DRAWS, dtype=np.uint64)[:, None] & np.uint64(1)
    return np.asarray(1.0 - 2.0 * bits)


def signed_sums(values: Array, weights: Sequence[Array]) -> Array:
    """(draws,) sums over all elements of one output (*shape), in float64; ``weights`` are
    (draws, extent) for each axis.

    >>> signed_sums(np.ones((2, 3)), [np.ones((1, 2)), np.array([[1.0, -1.0, 1.0]])])
    array([2.])
    """
    draws = len(weights[0]) if weights else 1
    if not weights or not values.size:
        return np.full(draws, float(values.sum()))
    *outer, last = weights
    rows = values.reshape(-1, values.shape[-1])
    step = max(1, _PIECE // max(1, values.shape[-1]))
    total = np.zeros(draws)
    for start in range(0, len(rows), step):
        some = rows[start : start + step].astype(np.float64) @ last.T
        at = np.arange(start, start + len(some))
        places = np.unravel_index(at, values.shape[:-1]) if outer else ()
        for weight, index in zip(outer, places, strict=True):
            some *= weight.T[index]
        total += some.sum(axis=0)
    return total
