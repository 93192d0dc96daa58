"""Which values of a plan's axes a call has: a plan's choices, read back off calls that somebody
else may have made.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from opgen.calls.columns import ArrayColumn, TensorColumn
from opgen.oracle.judgement import Judgement
from opgen.spec.language.term import Reference, Term
from opgen.spec.language.value import Value
from opgen.spec.rules import true_where
from opgen.suite.planning.call_builder import CallBuilder
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.constraints import RECIPE
from opgen.suite.planning.overlay import SHARED
from opgen.suite.planning.strides import view_of

MOST_READINGS = 64
"""A call that several choices would have made counts for each of them, up to so many."""


class _AsCalled(CallBuilder):
    """A builder that reads a spec's names off calls, and a plan's own off one level."""

    def __init__(
        self, compiled: CompiledPlan, judged: Judgement, own: dict[Reference, Value]
    ) -> None:
        super().__init__(compiled.spec, len(judged.table), own, {})
        self.judged = judged

    def get(self, reference: Reference) -> Value:
        if reference in self.chosen:
            return super().get(reference)
        return read(self.judged, reference)


def read(judged: Judgement, reference: Reference) -> Value:
    """A reference of a plan on calls; unbound where calls do not show it."""
    name, what = reference
    spec, rows = judged.spec, len(judged.table)
    if (name, "") in SHARED.values() and what == "" and name not in spec.parameters:
        tensor = next(p for p in spec.inputs if name != "rank" or p.shapes)
        return read(judged, (tensor.name, name))
    column = judged.table.columns.get(name)
    if what == "view" and isinstance(column, TensorColumn):
        return Value(view_of(column), ~column.null)
    if what == "values" and isinstance(column, ArrayColumn):
        return Value((column.length, column.values), ~column.null)
    if spec.scope.kind(reference) is None:
        return Value(np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=bool))
    return judged.view.get(reference)


def levels_of(compiled: CompiledPlan, judged: Judgement, recipes: list[str]) -> np.ndarray:
    """(readings, axes) level numbers of the calls of a judged table, -1 where an axis has no such
    value.
    """
    fits = [_fits(compiled, judged, recipes, i) for i in range(len(compiled.axes))]
    levels: list[tuple[int, ...]] = []
    for row in np.flatnonzero(judged.valid).tolist():
        options = [np.flatnonzero(fit[:, row]).tolist() or [-1] for fit in fits]
        readings = 1
        for i, option in enumerate(options):
            if readings * len(option) > MOST_READINGS:
                options[i] = option[:1]
            readings *= len(options[i])
        levels += product(*options)
    return np.array(sorted(set(levels)), dtype=np.int64).reshape(-1, len(compiled.axes))


def _fits(compiled: CompiledPlan, judged: Judgement, recipes: list[str], i: int) -> np.ndarray:
    """(levels, rows) bool: which values of one axis a call may have been made from."""
    rows, refs = len(judged.table), compiled.refs[i]
    result = np.ones((len(compiled.values[i]), rows), dtype=bool)
    for number, level in enumerate(compiled.values[i]):
        pairs = [
            (ref, value)
            for ref, value in zip(refs, level, strict=True)
            if _own(compiled, ref) and not callable(value)
        ]
        own = {ref: Value(np.full(rows, value)) for ref, value in pairs}
        called = _AsCalled(compiled, judged, own)
        for ref, value in zip(refs, level, strict=True):
            if ref == RECIPE:
                told = compiled.axes[i].of_tier(compiled.tier)[number][refs.index(RECIPE)]
                result[number] &= np.array([recipe == told for recipe in recipes], dtype=bool)
            elif ref not in own:
                result[number] &= _same(
                    value(called) if callable(value) else value, read(judged, ref), rows
                )
        for target, guarded in compiled.lets.items():
            if {r for _, term in guarded for r in term.refs} & set(own):
                result[number] &= _follows(guarded, called, read(judged, target), rows)
    return result


def _own(compiled: CompiledPlan, ref: Reference) -> bool:
    return (
        ref[1] == ""
        and compiled.spec.scope.kind(ref) is None
        and ref not in SHARED.values()
        and ref != RECIPE
    )


def _follows(
    guarded: Iterable[tuple[Term | None, Term]], called: _AsCalled, actual: Value, rows: int
) -> np.ndarray:
    """Where the first entry of a ``let`` that applies gives what the call has."""
    fits = np.ones(rows, dtype=bool)
    left = np.ones(rows, dtype=bool)
    for when, term in guarded:
        here = left & true_where(when, called, rows)
        fits &= ~here | _same(term.value(called), actual, rows)
        left &= ~here
    return fits


def _same(wanted: Any, actual: Value, rows: int) -> np.ndarray:
    """(rows,) bool: equal, or not shown by the call."""
    unknown = ~np.broadcast_to(np.asarray(actual.bound, dtype=bool), rows)
    data = wanted.data if isinstance(wanted, Value) else wanted
    if isinstance(actual.data, tuple):
        size, values = actual.data
        if isinstance(wanted, Value):
            size_w, values_w = (
                np.broadcast_to(data[0], rows),
                np.broadcast_to(data[1], (rows, data[1].shape[-1])),
            )
        else:
            size_w, values_w = np.full(rows, len(data)), np.tile(np.array(data or (0,)), (rows, 1))
        width = min(values.shape[1], values_w.shape[1])
        inside = np.arange(width) < np.broadcast_to(size, rows)[:, None]
        return np.asarray(
            unknown
            | (
                (size == size_w)
                & ((values[:, :width] == values_w[:, :width]) | ~inside).all(axis=1)
            )
        )
    return np.asarray(unknown | np.broadcast_to(np.asarray(actual.data == data), rows))
