"""Suites of calls that are given, a case for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType

import numpy as np

from opgen.calls.case_table import CaseTable
from opgen.calls.categorical import Categorical
from opgen.calls.factorize import factorize
from opgen.calls.jsonl import NamedCall
from opgen.calls.purposes import Purpose, Purposes
from opgen.calls.table import CallTable, from_calls
from opgen.model import Call, FileError, Kind, Problem
from opgen.numerics.recipes import DEFAULT
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.spec import Spec
from opgen.suite.batch import Given
from opgen.suite.budget import NO_LIMIT, CaseLimit
from opgen.suite.enumeration.routes import computed_by
from opgen.suite.planning.plan import Plan
from opgen.suite.suite import Source, Suite, joined, labelled_suite
from opgen.suite.values import unlawful

NOTHING: Given = MappingProxyType({})


def call_suite(
    calls: Sequence[NamedCall],
    page: Callable[[Call], Spec],
    plan: Callable[[Spec], Plan],
    limit: CaseLimit = NO_LIMIT,
    given: Given = NOTHING,
    recipe: str = DEFAULT,
    source: Source = None,
    file: str = "",
) -> Suite:
    """Exactly one case per call, under the call's id, in the order of the calls. ``given``: id ->
    the arrays of its tensors; the call's own recipe draws the others, or else ``recipe``. Calls
    beyond the ``limit`` have no data. ``source`` is that of
    :func:`opgen.suite.planned_suite.plan_suite`. FileError of the calls' ``file``, if one is named,
    where a given array holds what the rules of its page forbid.
    """
    number, first = factorize([id(named.call) for named in calls])
    distinct = [calls[i].call for i in first.tolist()]
    pages = [page(call) for call in distinct]
    of_page = Categorical.of([spec.name for spec in pages])
    asked = [(pages[i], plan(pages[i])) for i in of_page.first.tolist()]
    parts, places, problems = [], [], list[Problem]()
    for i, (spec, of_operator) in enumerate(asked):
        mine = np.flatnonzero(of_page.number == i)
        places.append(np.flatnonzero(of_page.number[number] == i))
        table = from_calls(spec.api, spec.kinds, [distinct[j] for j in mine.tolist()])
        entries = [calls[place] for place in places[-1].tolist()]
        cases = _cases(
            table,
            np.searchsorted(mine, number[places[-1]]),
            [entry.id for entry in entries],
            [entry.extra.get("recipe", recipe) for entry in entries],
            [computed_by(entry.extra.get("kernels")) for entry in entries],
        )
        judged = judge(spec, table)
        problems += unlawful(judged, cases.row, entries, given, file) if given and file else []
        if not problems:
            parts.append(labelled_suite(of_operator, judged, cases, given, limit, source))
    if problems:
        raise FileError(problems)
    return joined(asked, parts, places)


def table_suite(
    plan: Plan, judged: Judgement, ids: Sequence[str], recipes: Sequence[str], source: Source = None
) -> Suite:
    """One case per row of a judged table, whose data are drawn by its recipe."""
    every = np.arange(len(ids))
    cases = _cases(judged.table, every, ids, recipes, [""] * len(ids))
    part = labelled_suite(plan, judged, cases, NOTHING, NO_LIMIT, source)
    return joined([(judged.spec, plan)], [part], [every])


def _cases(
    table: CallTable,
    row: np.ndarray,
    ids: Sequence[str],
    recipes: Sequence[str],
    notes: Sequence[str],
) -> CaseTable:
    """Cases that somebody gives; of their purposes only the ``notes`` are known, if any."""
    kind: Categorical[Kind] = Categorical.constant("given", len(ids))
    purposes: Categorical[Purposes] = Categorical.of(
        [(Purpose("note", note=note),) if note else () for note in notes]
    )
    nearest = Categorical.constant("", len(ids))
    return CaseTable.of_calls(table, row, ids, kind, purposes, nearest, Categorical.of(recipes))
