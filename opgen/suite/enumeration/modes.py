"""Calls that show in which dtype a device computes: one for every combination of what the modes of
a page read, with data whose last bits, or whose largest values, a rounding changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from opgen.calls.vocabulary import vocabulary
from opgen.numerics.recipes import applies
from opgen.numerics.splitmix import SplitMix
from opgen.spec.language.term import Reference
from opgen.suite.covering import Model
from opgen.suite.covering.solver import Solver
from opgen.suite.enumeration.valid_calls import ValidCalls
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.constraints import axes_read, grid, read_all

ROUNDED, OVERFLOWING = "normal", "overflow"
"""Recipes that show a rounding: values with more digits than any compute dtype keeps; and, where
results are kept in a dtype of the same digits, values beyond its largest."""
DRAFTS = 4
"""Calls that are drafted for each combination; the rest of their values is random."""
FEW = 16
"""A gradient of fewer elements may hold none that a rounding changes enough."""


def mode_levels(compiled: CompiledPlan, model: Model, random_state: int) -> np.ndarray:
    """(rows, axes) values of legal calls: :data:`DRAFTS` for each combination of the axes that the
    modes read; none where a page has no modes.
    """
    row = compiled.builder(np.zeros((1, len(compiled.axes)), dtype=np.int64))
    axes = axes_read(compiled, row, partial(read_all, references=_references(compiled)))
    if not compiled.spec.modes or not axes:
        return np.zeros((0, len(compiled.axes)), dtype=np.int64)
    combinations = grid(compiled, axes, tuple(compiled.shape[i] for i in axes))
    open_ = np.full_like(combinations, -1)
    open_[:, axes] = combinations[:, axes]
    rows, feasible = Solver(model, SplitMix(random_state)).completed(open_.repeat(DRAFTS, axis=0))
    return rows[feasible]


def mode_calls(compiled: CompiledPlan, calls: ValidCalls) -> Iterator[tuple[int, str, str]]:
    """(row, recipe, compute dtype) of the best valid call for each combination of what the modes
    read: one with enough elements, the smallest of these.

    What may overflow or not has no finite bound. So data overflow only where a mode demands the
    rounding or no digits are lost, and in calls, if there are any, that ask for no output which the
    modes leave as it is.
    """
    spec, judged, rows = compiled.spec, calls.judged, len(calls)
    if not spec.modes:
        return
    kept, rounded = (
        np.logical_or.reduce(
            [judged.asked_for(p) for p in spec.outputs if (p.name in spec.exact) == exact]
            or [np.zeros(rows, dtype=bool)]
        )
        for exact in (True, False)
    )
    usable = np.flatnonzero(calls.valid & rounded)
    gradient = spec.inputs[0].name
    small = np.asarray(judged.view.get((gradient, "numel")).data < FEW)
    stored = np.broadcast_to(judged.view.get((gradient, "dtype")).data, rows)
    stored = np.array(vocabulary().names["dtype"], dtype=object)[stored]
    compute, optional = judged.compute
    beyond = applies(OVERFLOWING, stored, compute) & ~(optional & (stored == "FLOAT"))
    order = usable[np.lexsort((calls.size[usable], small[usable], (beyond & kept)[usable]))]
    keys = [
        np.broadcast_to(judged.view.get(ref).data, rows)[order] for ref in _references(compiled)
    ]
    _, first = np.unique(np.column_stack(keys), axis=0, return_index=True)
    for row in order[np.sort(first)].tolist():
        yield row, OVERFLOWING if beyond[row] else ROUNDED, compute[row]


def _references(compiled: CompiledPlan) -> list[Reference]:
    """The product, and everything else that the modes read."""
    read = [reference for mode in compiled.spec.modes for reference in mode.when.refs]
    return list(dict.fromkeys([("product", ""), *read]))
