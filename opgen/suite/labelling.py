"""What is expected of the cases of a page: what page and library answer, which cases have data, and
which would prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import compress

import numpy as np

from opgen.calls.case_table import CaseTable
from opgen.calls.categorical import Categorical
from opgen.calls.layout import elements, non_negative
from opgen.model import LibraryAnswer
from opgen.oracle.errata import Errata
from opgen.oracle.judgement import Judgement
from opgen.oracle.library import LibraryAnswers, answers_to
from opgen.suite.batch import Given
from opgen.suite.budget import CaseLimit
from opgen.suite.computable import computable, holdable, single
from opgen.suite.inconclusive import why_inconclusive
from opgen.suite.planning.plan import Plan
from opgen.suite.values import drawable, summable


def label(
    plan: Plan,
    judged: Judgement,
    cases: CaseTable,
    given: Given,
    limit: CaseLimit,
    source: Mapping[str, Errata] | None = None,
) -> tuple[CaseTable, dict[str, str]]:
    """The cases that make the calls of a judged table, labelled; and id -> why a case has no data
    although its call is accepted. ``given``: id -> input -> values that no recipe draws; a call
    beyond the ``limit`` has no data. ``source``: api -> errata, by default the shipped ones.
    """
    answers = answers_to(judged, source)
    data, without = _with_data(judged, answers, cases, limit)
    library: Categorical[LibraryAnswer | None] = (
        Categorical.constant(None, len(judged.table)) if answers is None else answers.answers()
    )
    drawn = data.copy()
    if given:
        calls = zip(cases.id, cases.row.tolist(), strict=True)
        whole = [_whole(judged, given.get(name, {}), call) for name, call in calls]
        drawn &= ~np.array(whole, dtype=bool)
    accepts = data & judged.admits(0)[cases.row]  # a refusal that the page asks for is evidence
    return replace(
        cases,
        page=judged.expectations().take(cases.row),
        library=library.take(cases.row),
        recipe=cases.recipe.where(drawn, ""),
        phase=np.where(data, 2, 1),
        compute=Categorical.of(judged.compute.dtype.tolist()).take(cases.row).where(data, ""),
        inconclusive=why_inconclusive(judged, plan, cases).where(accepts, ""),
    ), without


def _with_data(
    judged: Judgement,
    answers: LibraryAnswers | None,
    cases: CaseTable,
    limit: CaseLimit,
) -> tuple[np.ndarray, dict[str, str]]:
    """(cases,) bool: which have data; and for ids of those that have none although their call is
    accepted: why.
    """
    accepted = judged.valid if answers is None else judged.valid | answers.may_succeed
    held = cases.kind.mask(lambda kind: kind != "invalid") & accepted[cases.row]
    without: dict[str, str] = {}
    for able, why_not in _conditions(judged, answers, limit):
        without |= dict.fromkeys(compress(cases.id, held & ~able[cases.row]), why_not)
        held &= able[cases.row]
    return held, without


def _conditions(
    judged: Judgement, answers: LibraryAnswers | None, limit: CaseLimit
) -> Iterator[tuple[np.ndarray, str]]:
    """What a call with data must be, (calls,) bool, and what is said of those that are not."""
    table, why = judged.table, judged.spec.status_only
    yield np.full(len(table), not why), f"only statuses are checked: {why}"
    yield non_negative(table, judged.wanted), "an extent is negative"
    yield computable(judged, answers), "the rules that they break leave no gradient to expect"
    yield (
        holdable(table),
        "a view leaves its storage, or a dtype cannot hold data",
    )
    yield drawable(judged), "no number lies between the limits of an element"
    yield summable(judged), "a range says nothing of the sum of elements, which the page limits"
    yield (
        single(table, [p.name for p in judged.spec.outputs]),
        "elements of an output overlap, so it can have no golden",
    )
    yield elements(table) <= limit.elements, limit.why


def _whole(judged: Judgement, arrays: Mapping[str, object], call: int) -> bool:
    """Whether every input of a call has values of its own, so that nothing is drawn."""
    null = {p.name: judged.view.get((p.name, "null")).data for p in judged.spec.inputs}
    return bool(arrays) and all(name in arrays or here[call] for name, here in null.items())
