"""Average pooling over any number of axes, backward.

Windows spread axis by axis, the last first, by slices, in a fixed order of additions: the result depends neither on the
batch nor on a BLAS, whatever the data. Small planes are gathered by an index or multiplied by a matrix of zeros and
ones instead, but only where no order of additions can matter: where at most two windows meet in an element, or where
all sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, reduce
from math import frexp, isfinite, ldexp, prod
from typing import NamedTuple

import numpy as np

from opgen.golden import Array
from opgen.golden._axes import BLOCK, Windows, spread, window_sizes

SMALL = 1 << 12  # elements of a matrix up to which it is faster than slices


class Plan(NamedTuple):
    """The geometry of a call: windows per axis, what they are divided by, and for small planes a matrix or an index."""

    axes: tuple[Windows, ...]
    divisors: Array
    matrix: Array | None = None
    source: Array | None = None


@lru_cache(maxsize=4096)
def plan_of(sizes: tuple[tuple[int, int, int, int, int], ...], override: int, padded: bool) -> Plan:
    """The plan of a call whose axes are (kernel, stride, padding, extent, count).

    Windows are divided by ``override`` if it is not 0, else by what they cover, with the padding or without it.
    """
    axes = tuple(Windows(extent, count, kernel, stride, pad=pad) for kernel, stride, pad, extent, count in sizes)
    divisors = np.full([1] * len(axes), float(override or 1))
    if not override:
        covered = [window_sizes(w.extent, w.count, w.kernel, w.stride, w.pad)[0 if padded else 1] for w in axes]
        divisors = reduce(np.multiply.outer, covered)
    if not 0 < prod(w.count * w.extent for w in axes) <= SMALL:
        return Plan(axes, divisors)
    matrix = reduce(np.kron, [spread(np.eye(w.count), 1, w, np.empty((w.count, w.extent))) for w in axes])
    tiles = bool((np.add.reduce(matrix, axis=0) == 1).all())
    return Plan(axes, divisors, matrix, matrix.argmax(0) if tiles else None)


def pool(gradient: Array, plan: Plan) -> Array:
    """The gradient of a pooling's input: (..., *counts) -> (..., *extents)."""
    counts, extents = tuple(w.count for w in plan.axes), tuple(w.extent for w in plan.axes)
    lead = gradient.shape[:-len(counts)]
    planes = gradient.reshape(prod(lead), *counts)
    result = np.empty((len(planes), *extents))
    row = max(1, prod(max(count, extent) for count, extent in zip(counts[1:], extents[1:], strict=True)))
    step = max(1, BLOCK // max(1, row * max(counts[0], extents[0])))
    cuts = [(slice(0, counts[0]), slice(0, extents[0]), plan)]
    if extents[0] * row > 4 * BLOCK:
        cuts = list(cut(plan, max(1, BLOCK // row)))
    with np.errstate(all="ignore"):
        for first in range(0, len(planes), step):
            for windows, rows, part in cuts:
                some(planes[first:first + step, windows], result[first:first + step, rows], part)
    return result.reshape(*lead, *extents)


def cut(plan: Plan, rows: int) -> Iterator[tuple[slice, slice, Plan]]:
    """Cuts large planes: the rows of windows, the rows that they meet, and the plan between the two."""
    extent = plan.axes[0].extent
    for begin in range(0, extent, rows):
        end = min(begin + rows, extent)
        at, windows = plan.axes[0].within(begin, end)
        divisors = plan.divisors if len(plan.divisors) == 1 else plan.divisors[at]
        yield at, slice(begin, end), Plan((windows, *plan.axes[1:]), divisors)


def some(gradient: Array, result: Array, plan: Plan) -> None:
    """The gradients of some planes."""
    values = gradient / plan.divisors
    if plan.matrix is not None:
        flat, out = values.reshape(len(values), len(plan.matrix)), result.reshape(len(result), plan.matrix.shape[1])
        if plan.source is not None:
            flat.take(plan.source, axis=1, mode="clip", out=out)
            return
        if orderless(flat, prod(w.overlap for w in plan.axes)):
            np.matmul(flat, plan.matrix, out=out)
            return
    for axis in range(len(plan.axes), 0, -1):
        shape = (*values.shape[:axis], plan.axes[axis - 1].extent, *values.shape[axis + 1:])
        values = spread(values, axis, plan.axes[axis - 1], result if axis == 1 else np.empty(shape))


def orderless(values: Array, terms: int) -> bool:
    """Whether a sum of so many values is the same in any order, zeros times others included: all must be finite."""
    if terms <= 2:
        flat = values.reshape(-1)
        return isfinite(flat.dot(flat))
    largest = max(float(np.maximum.reduce(values, axis=None)), -float(np.minimum.reduce(values, axis=None)))
    if not largest < 1e290:
        return False
    with_unit = ldexp(1.5, frexp(largest * terms)[1])  # adding it rounds to 2^-52 of what a sum can reach
    rounded = values + with_unit
    rounded -= with_unit
    return bool((rounded == values).all())
