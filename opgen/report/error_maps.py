"""Pictures of errors as data, which the page draws: how error / bound is distributed, and where in
an output it lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import log1p

import numpy as np

from opgen.comparison.explain import ComparedOutput
from opgen.comparison.metrics import BINS
from opgen.numerics.arrays import Array

CELLS = 64
"""A map has at most so many cells a side; each shows the largest of its elements."""
LEVELS = ("0", "to 0.1", "to 0.5", "to 1", "to 2", "to 10", "to 100", "to 10⁴", "more", "Inf")
"""What a cell of each level says of error / bound."""
_EDGES = (0.0, 1e-300, 0.1, 0.5, 1.0000001, 2.0, 10.0, 100.0, 1e4, 1e300, np.inf)
_TALLEST = 56
"""Height of the bar of most elements."""
Panel = tuple[Array, str, str, Sequence[int]]
"""A map's values, the names of its two axes, and where lines part the columns."""
Bar = tuple[str, str, float, int]
"""Where a bar stands, what it counts (``equal``, ``right`` or ``wrong`` elements), its height, and
how many there are."""


def distribution(counts: Mapping[str, Sequence[int]]) -> list[tuple[str, list[Bar]]]:
    """Elements by error / bound, a row of bars per dtype; their heights are logarithmic.

    >>> (dtype, bars), = distribution({"FLOAT": [9] + [0] * 32 + [1]})
    >>> bars[0], bars[-1]
    (('equal', 'equal', 56.0, 9), ('2⁸', 'wrong', 16.9, 1))
    """
    powers = range(BINS[0], BINS[1] + 1)
    names = ["equal", *(f"2{str(power).translate(_RAISED)}" if power else "1" for power in powers)]
    kinds = ["equal", *("right" if power < 0 else "wrong" for power in powers)]
    drawn = []
    for dtype, values in counts.items():
        unit = _TALLEST / max(log1p(max(values)), 1.0)
        heights = [round(log1p(value) * unit, 1) for value in values]
        drawn.append((dtype, list(zip(names, kinds, heights, map(int, values), strict=True))))
    return drawn


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def error_map(output: ComparedOutput) -> list[dict[str, object]]:
    """Where an output is wrong, as JSON: samples by channels, then the spatial axes, each the
    largest over the rest. A row of cells is a text, with a digit of :data:`LEVELS` for each.
    """
    every = list(panels(output))
    return [
        {
            "rows": rows,
            "columns": columns,
            "size": values.shape,
            "lines": lines,
            "cells": ["".join(map(str, row)) for row in levels(_coarse(values)).tolist()],
        }
        for values, rows, columns, lines in [panel for panel in every if panel[0].size > 1]
        or every[-1:]
    ]


def _coarse(values: Array) -> Array:
    """The largest values of blocks, at most :data:`CELLS` a side."""
    for axis, extent in enumerate(values.shape):
        starts = np.arange(min(extent, CELLS)) * extent // min(extent, CELLS)
        values = np.maximum.reduceat(values, starts, axis=axis)
    return values


def panels(output: ComparedOutput) -> Iterator[Panel]:
    """Pairs of axes with the largest error / bound over all others. Groups of channels are one
    axis, parted by lines.
    """
    ratio, names = output.errors.ratio.reshape(output.form), list(output.axes)
    lines: list[int] = []
    parted = -1
    if "group" in names:
        axis = names.index("group")
        groups, each = ratio.shape[axis : axis + 2]
        ratio = ratio.reshape(*ratio.shape[:axis], groups * each, *ratio.shape[axis + 2 :])
        names.pop(axis)
        lines = [each * i for i in range(1, groups)]
        parted = axis if lines else -1
    if ratio.ndim < 2:
        yield ratio.reshape(1, -1), "", names[0] if names else "", lines
        return
    spatial = list(range(1 if ratio.ndim == 3 else 2, ratio.ndim)) or [0, 1]
    pairs = [(0, 1)] if ratio.ndim > 2 else []
    for a, b in (*pairs, *pairwise(spatial)):
        values = ratio.max(axis=tuple(axis for axis in range(ratio.ndim) if axis not in (a, b)))
        if a == parted:
            yield values.T, names[b], names[a], lines
        else:
            yield values, names[a], names[b], lines if b == parted else []


def levels(ratio: Array) -> Array:
    """The level that each error / bound falls on.

    >>> levels(np.array([0.0, 0.3, 5.0, np.nan])).tolist()
    [0, 2, 5, 9]
    """
    step = np.searchsorted(_EDGES, np.nan_to_num(ratio, nan=np.inf), side="right") - 1
    return np.clip(step, 0, len(LEVELS) - 1)
