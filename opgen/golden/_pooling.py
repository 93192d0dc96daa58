"""Average pooling over any number of axes, backward.

Windows spread axis by axis, the last first, by slices, in a fixed order of additions: the result depends neither on the
batch nor on a BLAS, whatever the data. Small planes are gathered by an index or multiplied by a matrix of zeros and
ones instead, but only where no order of additions can matter: where at most two windows meet in an element, or where
all sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, reduce
from math import frexp, isfinite, ldexp, prod, sqrt
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


def planned(names: Mapping[str, int], letters: str) -> Plan:
    """The plan of a call, from the names of its axes' extents, kernel, stride and padding."""
    sizes = tuple([(names["k" + a], names["s" + a], names["pad" + a], names[a + "in"], names[a + "out"]) for a in letters])
    return plan_of(sizes, names["divisorOverride"], bool(names["countIncludePad"]))


@lru_cache(maxsize=256)
def plan_of(sizes: tuple[tuple[int, int, int, int, int], ...], override: int, padded: bool) -> Plan:
    """The plan of a call whose axes are (kernel, stride, padding, extent, number of windows).

    Windows are divided by ``override`` if it is not 0, else by what they cover, with the padding or without it.
    """
    axes = tuple([Windows(extent, number, kernel, stride, pad=pad) for kernel, stride, pad, extent, number in sizes])
    if override:
        divisors = np.full([1] * len(axes), float(override))
    else:
        divisors = reduce(np.multiply.outer, [window_sizes(w)[0 if padded else 1] for w in axes])
    if not 0 < prod([w.number * w.extent for w in axes]) <= SMALL:
        return Plan(axes, divisors)
    matrix, source = incidence(axes[0])
    for w in axes[1:]:
        meets, only = incidence(w)
        rows, columns = len(matrix) * w.number, matrix.shape[1] * w.extent
        matrix = (matrix[:, None, :, None] * meets[:, None, :]).reshape(rows, columns)
        source = None if source is None or only is None else np.add.outer(source * w.number, only).reshape(columns)
    return Plan(axes, divisors, matrix, source)


@lru_cache(maxsize=256)
def incidence(windows: Windows) -> tuple[Array, Array | None]:
    """Whether a window meets an index, (number, extent) of 0 and 1; per index its window, if each has exactly one."""
    matrix = spread(np.eye(windows.number), 1, windows, np.empty((windows.number, windows.extent)))
    return matrix, matrix.argmax(0) if bool((matrix.sum(0) == 1).all()) else None


def pool(gradient: Array, plan: Plan) -> Array:
    """The gradient of a pooling's input: (..., *numbers of windows) -> (..., *extents)."""
    numbers, extents = [w.number for w in plan.axes], [w.extent for w in plan.axes]
    lead = gradient.shape[:-len(numbers)]
    planes = gradient.reshape(prod(lead), *numbers)
    result = np.empty((len(planes), *extents))
    row = max(1, prod(map(max, numbers[1:], extents[1:])))
    step = max(1, BLOCK // max(1, row * max(numbers[0], extents[0])))
    cuts = [(slice(None), slice(None), plan)] if extents[0] * row <= 4 * BLOCK else list(cut(plan, max(1, BLOCK // row)))
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
        if orderless(values.reshape(-1), prod([w.overlap for w in plan.axes])):
            np.matmul(flat, plan.matrix, out=out)
            return
    for axis in range(len(plan.axes), 0, -1):
        shape = (*values.shape[:axis], plan.axes[axis - 1].extent, *values.shape[axis + 1:])
        values = spread(values, axis, plan.axes[axis - 1], result if axis == 1 else np.empty(shape))


def orderless(values: Array, terms: int) -> bool:
    """Whether a sum of so many values is the same in any order, zeros times others included: all must be finite."""
    squares = float(values.dot(values))
    if terms <= 2:
        return isfinite(squares)
    if not 1e-280 < squares < 1e290:
        return False
    with_unit = ldexp(1.5, frexp(sqrt(squares) * terms)[1])  # adding it rounds to 2^-52 of what a sum can reach
    rounded = values + with_unit
    rounded -= with_unit
    return bool((rounded == values).all())
