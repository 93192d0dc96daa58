"""The gradient of 2-D average pooling: every window spreads its quotient over the elements that it covered.

Windows spread along W, then along H, by slices, in a fixed order of additions: the result depends neither on the
batch nor on a BLAS, whatever the data. Small planes are multiplied by a matrix of zeros and ones instead, but only if
no order of additions can matter: where at most two windows meet in an element, or where all sums are exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from math import frexp, isfinite, ldexp, prod
from typing import NamedTuple

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._axes import BLOCK, Windows, spread, window_sizes

SMALL = 1 << 12  # elements of a matrix up to which it is faster than slices


class Plan(NamedTuple):
    """The geometry of a call: windows per axis, what they are divided by, the matrix of small planes, or None."""

    h: Windows
    w: Windows
    divisors: Array
    matrix: Array | None


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """gradInput (B, ..., Hin, Win) from gradOutput (B, ..., Hout, Wout)."""
    gradient = tensors["gradOutput"]
    assert gradient is not None
    if "gradInput" not in wanted:
        return {}
    plan = planned(names)
    h, w = plan.h, plan.w
    planes = gradient.reshape(prod(gradient.shape[:-2]), h.count, w.count)
    result = np.empty((len(planes), h.extent, w.extent))
    row, step = max(1, w.count, w.extent), max(1, BLOCK // max(1, h.count * w.extent, h.extent * w.extent))
    cuts = [(slice(0, h.count), slice(0, h.extent), plan)]
    if h.extent * row > 4 * BLOCK:
        cuts = list(pieces_of(plan, max(1, BLOCK // row)))
    for first in range(0, len(planes), step):
        for windows, rows, part in cuts:
            some(planes[first:first + step, windows], result[first:first + step, rows], part)
    return {"gradInput": result.reshape(*gradient.shape[:-2], h.extent, w.extent)}


def pieces_of(plan: Plan, rows: int) -> Iterator[tuple[slice, slice, Plan]]:
    """Cuts large planes: the rows of windows, the rows that they meet, and the plan between the two."""
    for begin in range(0, plan.h.extent, rows):
        end = min(begin + rows, plan.h.extent)
        at, windows = plan.h.within(begin, end)
        divisors = plan.divisors if len(plan.divisors) == 1 else plan.divisors[at]
        yield at, slice(begin, end), Plan(windows, plan.w, divisors, None)


def some(gradient: Array, result: Array, plan: Plan) -> None:
    """The golden of some planes."""
    quotient = gradient / plan.divisors
    if plan.matrix is not None and orderless(quotient, plan.h.overlap * plan.w.overlap):
        np.matmul(quotient.reshape(len(quotient), len(plan.matrix)), plan.matrix, out=result.reshape(len(quotient), -1))
        return
    rows = spread(quotient, 2, plan.w, np.empty((*quotient.shape[:2], plan.w.extent)))
    spread(rows, 1, plan.h, result)


def orderless(values: Array, terms: int) -> bool:
    """Whether a sum of so many values is the same in any order, zeros times others included: all must be finite."""
    if terms <= 2:
        flat = values.reshape(-1)
        return isfinite(flat.dot(flat))
    largest = float(np.maximum.reduce(np.abs(values), axis=None))
    if not largest < 1e290:
        return False
    with_unit = ldexp(1.5, frexp(largest * terms)[1])  # adding it rounds to 2^-52 of what a sum can reach
    return bool(np.logical_and.reduce((values + with_unit) - with_unit == values, axis=None))


def planned(names: Mapping[str, int]) -> Plan:
    """The plan of a call."""
    h, w = [tuple([names[name + axis] for name in ("k", "s", "pad")] + [names[axis + "in"], names[axis + "out"]])
            for axis in "HW"]
    return plan_of(h, w, names["divisorOverride"], bool(names["countIncludePad"]))


@lru_cache(maxsize=4096)
def plan_of(h: tuple[int, ...], w: tuple[int, ...], override: int, padded: bool) -> Plan:
    """The plan of a call whose axes are (kernel, stride, padding, extent, count)."""
    axes, divisors = [], np.full((1, 1), float(override or 1))
    for axis, (kernel, stride, pad, extent, count) in enumerate((h, w)):
        axes.append(Windows(extent, count, kernel, stride, pad=pad))
        if not override:
            covered, valid = window_sizes(extent, count, kernel, stride, pad)
            divisors = divisors * np.expand_dims(covered if padded else valid, 1 - axis)
    rows, columns = axes
    matrix = None
    if 0 < rows.count * columns.count * rows.extent * columns.extent <= SMALL:
        matrix = np.kron(*[spread(np.eye(a.count), 1, a, np.empty((a.count, a.extent))) for a in axes])
    return Plan(rows, columns, divisors, matrix)


def magnitude(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """The pooling of absolute values by the absolute divisor."""
    gradient = tensors["gradOutput"]
    assert gradient is not None
    positive = {**names, "divisorOverride": abs(names["divisorOverride"])}
    return golden({"gradOutput": np.abs(gradient)}, positive, wanted)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The windows that meet in an element, and two roundings of the factor."""
    rows = min(names["Hout"], -(-names["kH"] // names["sH"]))
    columns = min(names["Wout"], -(-names["kW"] // names["sW"]))
    return rows * columns + 2
