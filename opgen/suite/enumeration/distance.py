"""How far calls are from the limits of a rule."""

from __future__ import annotations

import numpy as np

from opgen.calls import bigint
from opgen.calls.columns import TypedColumn
from opgen.calls.kinds import NUMERIC
from opgen.calls.table import CallTable
from opgen.spec.language import functions
from opgen.spec.language.term import View
from opgen.spec.rules import Guard


def unit_of(guard: Guard, table: CallTable) -> str:
    """The kind of reals in whose steps scalars are apart: one of FLOAT is a step of nearly every
    dtype that they may have; empty for other comparisons.
    """
    names = [name for name, _ in guard.require.refs]
    return "float" if any(isinstance(table.columns.get(n), TypedColumn) for n in names) else ""


def distance(guard: Guard, view: View, rows: int, unit: str = "") -> np.ndarray:
    """(rows,) float64: left minus the nearest right side of a comparison of numbers, in units of
    the finer side, or of a kind of reals; 0 for other comparisons. An inequality stands at its
    limit where this is 0, a strict one where it is one unit.
    """
    relation = guard.require
    if relation.unit not in NUMERIC:
        return np.zeros(rows)
    left, gaps = relation.left.read(view), []
    for right in relation.right:
        gap = bigint.subtract(*functions.in_steps(left, right.read(view), unit or relation.unit))
        gaps.append(np.broadcast_to(gap.astype(np.float64), rows))
    nearest = np.stack(gaps)
    return np.asarray(np.take_along_axis(nearest, np.abs(nearest).argmin(axis=0)[None], axis=0)[0])
