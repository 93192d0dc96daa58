"""Proposals of edits: numbers that may tip a comparison, and shapes, for some rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from opgen.calls import reals
from opgen.calls.columns import Column, ScalarColumn, TensorColumn, TypedColumn
from opgen.calls.kinds import REAL
from opgen.spec.language.term import Reference
from opgen.suite.planning.edits import Edit

Proposal: TypeAlias = tuple[np.ndarray, Sequence[Edit]]
"""Some rows, and edits of each of them."""
Sides: TypeAlias = Sequence[tuple[np.ndarray, np.ndarray]]
"""What a guard compares, (rows, 1) each: its left side and one of its right sides."""

FAR = 2**62
"""Numbers from here on are no edit: columns compute with them, and must not leave int64."""
_NO_EDIT = 2**70


def by_size(column: Column, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The rows of each rank or length, and their extents or items, (rows, size), as numbers of any
    size.
    """
    assert not isinstance(column, ScalarColumn | TypedColumn)
    sizes, values = (
        (column.rank, column.shape)
        if isinstance(column, TensorColumn)
        else (column.length, column.values)
    )
    values = reals.ordinals(values) if values.dtype.kind == "f" else values
    for size in np.unique(sizes[rows]):
        places = np.flatnonzero(sizes[rows] == size)
        yield places, values[rows[places], :size].astype(object)


def beside(sides: Sides) -> np.ndarray:
    """(rows, numbers) object: one more and one less than limits, which scalars of all dtypes can
    have, limits and results in steps of FLOAT.
    """
    limits = np.hstack([right for _, right in sides]).astype(np.int64)
    values = reals.of_ordinals(limits, REAL["float"])
    return np.asarray(reals.ordinals(np.hstack([values - 1, values + 1])).astype(object))


def proposal(
    reference: Reference, places: np.ndarray, wanted: np.ndarray, unit: str = "int"
) -> Proposal:
    """Each of the wanted numbers, (places, numbers), in place of one name; reals by their
    ordinals.
    """
    if unit in REAL:
        near = np.abs(wanted) <= nan_of(unit)
        values = reals.of_ordinals(wanted[near].astype(np.int64), REAL[unit])
    else:
        near = np.abs(wanted) < FAR
        values = wanted[near]
    return places[np.nonzero(near)[0]], [(reference, values)]


def nan_of(unit: str) -> int:
    """The ordinal of NaN, beyond all others."""
    return int(reals.ordinals(np.array(np.nan, REAL[unit])))


def whole_shapes(name: str, places: np.ndarray, shapes: np.ndarray) -> Proposal:
    """One whole shape per place, (places, rank)."""
    near = (np.abs(shapes) < FAR).all(axis=1)
    return places[near], [((name, "shape"), shapes[near])]


def candidates(current: np.ndarray, sides: Sides) -> np.ndarray:
    """(rows, numbers) object: numbers near enough to tip a comparison of ``left`` with ``right``
    when ``current`` is part of either, all of them (rows, 1); the nearest first, and a number that
    is no edit in place of equal ones.
    """
    few = np.arange(-2, 3).astype(object)
    near = [current + 1, current - 1, 0 * current, 0 * current - 1, 2 * current]
    for left, right in sides:
        gap = right - left
        near += [right + few, left + few, current + gap // 2 + few]
        near += [current + times * gap + few for times in (-2, -1, 1, 2)]
        scalable = (left != 0) & (left != 1)
        near.append(
            np.where(scalable, current * (right + few) // np.where(scalable, left, 1), current)
        )
    step = np.hstack(near) - current
    rank = np.sort(2 * np.abs(step) + (step > 0), axis=1)
    known = np.hstack([rank[:, :1] == 0, (rank[:, 1:] == rank[:, :-1]) | (rank[:, 1:] == 0)])
    return np.where(known, _NO_EDIT, current + np.where(rank % 2, rank // 2, -(rank // 2)))
