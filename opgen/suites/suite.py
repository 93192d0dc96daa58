"""Suites: the cases of a bundle, and the batches that their data are computed in.

A case is a call with an id, expectations and a purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from types import MappingProxyType
from typing import Any

import numpy as np

from opgen.calls.costs import elements
from opgen.calls.distinct import numbered
from opgen.calls.ids import matching
from opgen.calls.jsonl import NamedCall
from opgen.calls.table import CallTable, from_calls
from opgen.calls.words import words
from opgen.enumeration.aims import Aims, told
from opgen.enumeration.enumerator import Report, enumerate_calls
from opgen.enumeration.pinned import with_pinned
from opgen.judge.library import Answers, answer
from opgen.judge.oracle import Judgement, judge
from opgen.model import CRASH, Call, Case
from opgen.page.modes import compute_dtypes
from opgen.page.rules import holds
from opgen.page.spec import Spec
from opgen.planning.plan import Plan
from opgen.suites.batch import Batch as Batch
from opgen.suites.batch import WithData, batches
from opgen.suites.budget import affordable
from opgen.suites.computable import computable, holdable
from opgen.suites.naming import Purpose, named, some_of
from opgen.suites.stored import Stored, stored
from opgen.suites.vacuity import mistrusted

MOST_ELEMENTS = 2**20
"""Elements of all tensors of a given call up to which it has data."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass
class Suite:
    """Everything that a bundle holds, but the data. ``stored[i]`` are the tensors of ``cases[i]``, ``aims[i]`` what it is for.

    ``without_data``: id -> why a case has none although its call is accepted.
    """

    cases: list[Case] = field(default_factory=list)
    stored: list[list[Stored]] = field(default_factory=list)
    aims: list[Aims] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    reports: dict[str, Report] = field(default_factory=dict)
    specs: dict[str, Spec] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    without_data: dict[str, str] = field(default_factory=dict)

    @property
    def outputs(self) -> dict[str, tuple[str, ...]]:
        """Api -> its output parameters."""
        return {spec.api: tuple(p.name for p in spec.outputs) for spec in self.specs.values()}

    def some(self, rows: Sequence[int]) -> Suite:
        """The cases at ``rows``, in that order, with their batches cut down to them."""
        place = np.full(len(self.cases), -1)
        place[list(rows)] = np.arange(len(rows))
        batches = []
        for batch in self.batches:
            kept = [i for i, row in enumerate(batch.rows) if place[row] >= 0]
            if kept:
                batches.append(replace(batch, rows=place[batch.rows[kept]], ids=tuple(batch.ids[i] for i in kept)))
        cases = [self.cases[i] for i in rows]
        without = {case.id: self.without_data[case.id] for case in cases if case.id in self.without_data}
        stored, aims = [self.stored[i] for i in rows], [self.aims[i] for i in rows]
        return replace(self, cases=cases, stored=stored, aims=aims, batches=batches, without_data=without)


def plan_suite(
    pages: Sequence[tuple[Spec, Plan]], tier: str, products: Sequence[str] = (), patterns: Sequence[str] = (), given: Sequence[Call] = ()
) -> Suite:
    """The suite of a tier for some pages: enumerated calls, then pinned ones; only ``products`` and ids that match.

    ``given`` calls exist already: what they cover is not made again.
    """
    suite = Suite()
    for spec, plan in pages:
        if (products and not set(products) & set(spec.judges)) or not plan.speaks_of(spec.judges):
            continue
        drafted = with_pinned(enumerate_calls(spec, plan, tier, given), plan, tier)
        report = suite.reports[spec.name] = drafted.report
        table, purpose = named(drafted)
        within = affordable(table, purpose.kind, purpose.twin, purpose.ids, plan.tiers[tier])
        report.left_out = int((~within).sum())
        keep = within & (np.isin(table.product, [words().index["product"][product] for product in products]) if products else True)
        if patterns:
            asked = [place for places in matching(purpose.ids, patterns).values() for place in places]
            keep &= np.isin(np.arange(len(keep)), asked)
            keep |= np.isin(purpose.ids, [purpose.twin[i] for i in np.flatnonzero(keep).tolist()])
        if tier != "crash":
            fatal = crashing(judge(spec, table))
            keep, report.crashing = keep & ~fatal, int(fatal.sum())
        rows = np.flatnonzero(keep)
        table, every, start = table.take(rows), np.arange(len(rows)), len(suite.cases)
        _add(suite, spec, plan, table.calls(), table, every, some_of(purpose, rows), plan.tiers[tier].elements, start + every)
    return suite


def call_suite(
    calls: Sequence[NamedCall], page: Callable[[Call], Spec], plan: Callable[[Spec], Plan], elements: int = MOST_ELEMENTS,
    given: Mapping[str, Mapping[str, Any]] = _NOTHING,
) -> Suite:
    """Exactly one case per call, under the call's id, in the order of the calls. ``given``: id -> the arrays of its tensors."""
    suite = Suite()
    number, first = numbered([id(one.call) for one in calls])
    distinct = [calls[i].call for i in first.tolist()]
    specs = [page(call) for call in distinct]
    of_page, starts = numbered(map(id, specs))
    pages = [np.flatnonzero(of_page[number] == i) for i in range(len(starts))]
    for i, places in enumerate(pages):
        mine, spec = np.flatnonzero(of_page == i), specs[starts[i]]
        some, ids = [distinct[j] for j in mine.tolist()], [calls[j].id for j in places.tolist()]
        nothing, aims, arrays = [""] * len(ids), [()] * len(ids), [given.get(one, _NOTHING) for one in ids]
        purpose = Purpose(["call"] * len(ids), aims, ["grid"] * len(ids), nothing, ids, arrays)
        of = np.searchsorted(mine, number[places])
        _add(suite, spec, plan(spec), some, from_calls(spec.api, spec.kinds, some), of, purpose, elements, places)
    order = np.argsort(np.concatenate([*pages, np.zeros(0, dtype=np.intp)])).tolist()
    cases, stored = [suite.cases[i] for i in order], [suite.stored[i] for i in order]
    return replace(suite, cases=cases, stored=stored, aims=[suite.aims[i] for i in order])


def crashing(judged: Judgement) -> np.ndarray:
    """(rows,) bool: where the published library is known to end the host process."""
    answers: Answers | None = answer(judged)
    if answers is None:
        return np.zeros(len(judged.table), dtype=bool)
    fatal = np.array([CRASH in stage.codes for stage in answers.page.stages] + [False])
    return np.asarray(fatal[answers.stage])  # the last is ACCEPTED, -1


def _add(
    suite: Suite, spec: Spec, plan: Plan, calls: Sequence[Call], table: CallTable, of: np.ndarray, purpose: Purpose, most: int,
    places: np.ndarray,
) -> None:  # fmt: skip
    """Judge calls, make cases of them, and group those with data into batches.

    ``table`` holds ``calls``; case ``i`` makes call ``of[i]`` and stands in the suite at ``places[i]``.
    """
    judged = judge(spec, table)
    answers = answer(judged)
    suite.specs[spec.name], suite.plans[spec.name] = spec, plan
    accepted = judged.valid if answers is None else judged.valid | answers.accepted
    asked = np.array([kind != "invalid" for kind in purpose.kind], dtype=bool)
    with_data = asked & accepted[of]
    for able, why_not in (
        (computable(judged, answers), "what they break leaves no gradient to expect"),
        (holdable(table), "a view leaves its storage, or there are no data of a dtype"),
        (elements(table) <= most, f"their tensors have more than {most:,} elements in all"),
    ):
        suite.without_data |= dict.fromkeys(compress(purpose.ids, with_data & ~able[of]), why_not)
        with_data &= able[of]
    wanted, compute = _wanted(spec, judged), compute_dtypes(spec, judged.view, len(table))
    why = mistrusted(judged, plan, wanted, of, purpose.recipe, purpose.aims)
    page, library = judged.expectations(), [None] * len(calls) if answers is None else answers.answers()
    row, data = of.tolist(), with_data.tolist()
    intent = {aims: told(aims) for aims in set(purpose.aims)}

    def where_data(values: Sequence[str]) -> Sequence[str]:
        return values if all(data) else [value if there else "" for value, there in zip(values, data, strict=True)]

    columns = zip(
        purpose.ids, map(calls.__getitem__, row), purpose.kind, map(intent.__getitem__, purpose.aims), map(page.__getitem__, row),
        map(library.__getitem__, row), where_data(purpose.recipe), [2 if there else 1 for there in data], purpose.twin,
        where_data(compute[of].tolist()), where_data(why), strict=True,
    )  # fmt: skip
    suite.cases += map(Case._make, columns)
    suite.aims += purpose.aims
    rows = np.flatnonzero(with_data)
    used, position = np.unique(of[rows], return_inverse=True)
    tensors = stored(spec, [calls[i] for i in used.tolist()], {name: asked[used] for name, asked in wanted.items()})
    nothing: list[Stored] = []
    form = map(tensors.__getitem__, position.tolist())
    suite.stored += [next(form) if there else nothing for there in data]
    recipe, ids, given = list(compress(purpose.recipe, data)), list(compress(purpose.ids, data)), list(compress(purpose.given, data))
    having = WithData(used, position, places[rows], recipe, ids, given)
    suite.batches += batches(plan, judged, calls, compute, wanted, having)


def _wanted(spec: Spec, judged: Judgement) -> dict[str, np.ndarray]:
    """Output -> (rows,) bool: where its mask is set and its pointer is not null."""
    rows = len(judged.table)
    found = {}
    for p in spec.outputs:
        found[p.name] = ~judged.view.get((p.name, "null")).data & holds(p.mask, judged.view, rows)
    return found
