"""Cases that a test makes one by one, as the table that suites and bundles are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opgen.calls.case_table import CaseTable
from opgen.calls.categorical import Categorical
from opgen.calls.purposes import Purpose, Purposes
from opgen.calls.table import from_calls
from opgen.model import Argument, Call, Case, TensorDesc

KINDS = {TensorDesc: "tensor", bool: "bool", int: "int64", float: "double"}


def tabulate(cases: Sequence[Case]) -> CaseTable:
    """The table of some cases; the calls of an api have the same parameters."""
    api = Categorical.of([case.call.api for case in cases])
    tables, row = [], np.zeros(len(cases), dtype=np.int64)
    for i, name in enumerate(api.values):
        rows = np.flatnonzero(api.number == i)
        calls = [cases[place].call for place in rows.tolist()]
        tables.append(from_calls(name, kinds_of(calls), calls))
        row[rows] = np.arange(len(rows))
    purposes: list[Purposes] = [
        (Purpose("note", note=case.intent),) if case.intent else () for case in cases
    ]
    return CaseTable(
        calls=tuple(tables),
        table=api.number,
        row=row,
        id=[case.id for case in cases],
        kind=Categorical.of([case.kind for case in cases]),
        purposes=Categorical.of(purposes),
        nearest_valid=Categorical.of([case.nearest_valid for case in cases]),
        recipe=Categorical.of([case.recipe for case in cases]),
        page=Categorical.of([case.page for case in cases]),
        library=Categorical.of([case.library for case in cases]),
        phase=np.array([case.phase for case in cases], dtype=np.int64),
        compute=Categorical.of([case.compute for case in cases]),
        inconclusive=Categorical.of([case.inconclusive for case in cases]),
    )


def kinds_of(calls: Sequence[Call]) -> dict[str, str]:
    """Parameter -> the kind that its arguments show; what only nulls and empty arrays show is an
    int array.
    """
    kinds = {}
    for name in calls[0].args:
        shown = {_kind(call.args[name]) for call in calls} - {""}
        assert len(shown) <= 1, f"{name}: {shown}"
        kinds[name] = next(iter(shown), "int_array")
    return kinds


def _kind(value: Argument) -> str:
    """Nothing for a null pointer or an empty array."""
    if isinstance(value, tuple):
        return f"{'bool' if isinstance(value[0], bool) else 'int'}_array" if value else ""
    return "" if value is None else KINDS[type(value)]
