"""Reflection padding over any number of axes, backward.

Borders fold back axis by axis, the first axis first, by slices, in a fixed order of additions: the
result depends neither on the batch nor on a BLAS, whatever the data. Small planes are multiplied by
matrices of zeros and ones instead, but only where no order of additions can matter: where at most
two values meet in a sum, or where all sums are exact.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._absolute import Copies, stacked
from opgen.golden._axes import BLOCK
from opgen.golden._columns import Index
from opgen.golden._matrices import SMALL, multiply, orderless

FEW = 1 << 15  # elements up to which matrices are faster than slices
LEAD: list[Index] = [(slice(None),) * axis for axis in range(8)]
"""The indices of the axes before one."""


class FoldGeometry(NamedTuple):
    """The extents inside of the borders; for small planes a matrix per axis, in whose products so
    many terms meet.
    """

    extents: tuple[int, ...]
    matrices: tuple[Array, ...] = ()
    terms: int = 0


def folded(
    tensors: Tensors, wanted: Collection[str], borders: tuple[tuple[int, int], ...], copies: Copies
) -> dict[str, Array]:
    """The outputs of a kernel that folds (before, after) of the last axes, of all copies of all
    cases.
    """
    gradient = tensors["gradOutput"]
    assert gradient is not None
    return {"gradInput": fold(gradient, borders, copies)} if "gradInput" in wanted else {}


@lru_cache(maxsize=256)
def geometry_of(padded: tuple[int, ...], borders: tuple[tuple[int, int], ...]) -> FoldGeometry:
    """The geometry of planes."""
    extents = tuple(
        [extent - before - after for extent, (before, after) in zip(padded, borders, strict=True)]
    )
    if not all(0 < outer * inner <= SMALL for outer, inner in zip(padded, extents, strict=True)):
        return FoldGeometry(extents)
    matrices, terms = zip(
        *[matrix_of(extent, *border) for extent, border in zip(padded, borders, strict=True)],
        strict=True,
    )
    return FoldGeometry(extents, matrices, prod(terms) if max(terms) > 2 else 2)


@lru_cache(maxsize=1024)
def matrix_of(padded: int, before: int, after: int) -> tuple[Array, int]:
    """Which elements of an axis fold back onto which, (padded, inside) of 0 and 1, and how many can
    meet in one.
    """
    last = padded - before - after - 1
    mirrored = last - np.abs(last - np.abs(np.arange(-before, last + after + 1)))
    terms = 3 if before and after and before + after >= last else 2
    return np.eye(last + 1).take(mirrored, 0), terms


def fold(gradient: Array, borders: tuple[tuple[int, int], ...], copies: Copies) -> Array:
    """Adds the reflected borders of the last axes back onto their inside: (B, ..., before + n +
    after) -> (copies * B, ..., n).

    ``borders`` holds (before, after) of every folded axis. The order of additions is fixed: axis by
    axis, the inside, the border before, the border behind.
    """
    rank = len(borders)
    geometry = geometry_of(gradient.shape[-rank:], borders)
    stack = stacked(gradient, copies)
    result = np.empty((*stack.shape[:-rank], *geometry.extents), gradient.dtype)
    if (
        geometry.matrices
        and 0 < stack.size <= FEW
        and gradient.dtype.kind == "f"
        and orderless(gradient.reshape(-1), geometry.terms)
    ):
        multiply(stack[None], geometry.matrices, range(rank), result[None])
    else:
        slices(stack, borders, result)
    return result


def slices(gradient: Array, borders: tuple[tuple[int, int], ...], result: Array) -> None:
    """Folds by slices, some planes, or some rows of one, at a time."""
    rank = len(borders)
    extents, padded = result.shape[-rank:], gradient.shape[-rank:]
    count = prod(result.shape[:-rank])
    planes, inside = gradient.reshape(count, *padded), result.reshape(count, *extents)
    width = prod(padded[1:]) * (result.itemsize // 8)
    rows = min(extents[0], max(1, BLOCK // max(1, width)))
    step = max(1, BLOCK // max(1, rows * width))
    for first in range(0, count, step):
        for row in range(0, extents[0], rows):
            part, span = planes[first : first + step], (row, min(row + rows, extents[0]))
            for axis, (before, after) in enumerate(borders, 1):
                target = inside[first : first + step, span[0] : span[1]] if axis == rank else None
                part = fold_axis(
                    part, axis, before, after, span if axis == 1 else (0, extents[axis - 1]), target
                )


def fold_axis(
    source: Array, axis: int, before: int, after: int, span: tuple[int, int], out: Array | None
) -> Array:
    """Some elements of an axis with what its borders mirror onto them."""
    (begin, end), lead = span, LEAD[axis]
    inside = source[(*lead, slice(before + begin, before + end))]
    if out is None:
        if not before and not after:
            return inside
        out = inside.copy()
    else:
        out[...] = inside
    last = source.shape[axis] - before - after - 1
    for first, stop, mirror in ((1, before + 1, before), (last - after, last, before + 2 * last)):
        low, high = max(first, begin), min(stop, end)
        if high <= low:
            continue
        if high - low > 8 or out.size < 4096:
            back = mirror - high
            target = out[(*lead, slice(low - begin, high - begin))]
            target += source[(*lead, slice(mirror - low, back if back >= 0 else None, -1))]
            continue
        for i in range(low, high):
            target = out[(*lead, i - begin)]
            target += source[(*lead, mirror - i)]
    return out
