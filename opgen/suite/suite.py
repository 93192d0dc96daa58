"""Suites: the cases of a bundle, and the batches that their data are computed in.

A case is a call with an id, expectations and a purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from opgen.calls.aims import Aims
from opgen.calls.factorize import factorize
from opgen.calls.ids import matching
from opgen.calls.jsonl import NamedCall
from opgen.calls.table import CallTable, from_calls
from opgen.calls.vocabulary import vocabulary
from opgen.model import CRASHES, Call, Case
from opgen.numerics.recipes import DEFAULT
from opgen.oracle.judgement import Judgement, judge
from opgen.oracle.library import answers_to
from opgen.spec.spec import Spec
from opgen.suite.batch import Batch as Batch
from opgen.suite.budget import affordable
from opgen.suite.enumeration.enumerator import Report, enumerate_calls
from opgen.suite.enumeration.handwritten import with_handwritten
from opgen.suite.identity import Identity, identity
from opgen.suite.naming import Purpose, named
from opgen.suite.part import Asked, part
from opgen.suite.planning.plan import Plan
from opgen.suite.stored import Stored

MOST_ELEMENTS = 2**20
"""Elements of all tensors of a given call up to which it has data."""

Each: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""How some work is done for each of several things, in their order: ``map``, or something that has
other processes help."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass
class Suite:
    """Everything that a bundle holds, but the data. ``stored`` are the tensors of ``cases``,
    ``aims[i]`` is what ``cases[i]`` is for.

    ``without_data``: id -> why a case has none although its call is accepted.
    """

    cases: list[Case] = field(default_factory=list)
    stored: Stored = field(default_factory=Stored)
    aims: list[Aims] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    reports: dict[str, Report] = field(default_factory=dict)
    specs: dict[str, Spec] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    without_data: dict[str, str] = field(default_factory=dict)
    whole: Identity | None = None
    """Of the suite that this one is a part of."""

    @property
    def identity(self) -> Identity:
        """What the suite is, or the one that it is a part of."""
        return self.whole or identity(self.cases, self.batches)

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
                batches.append(replace(batch.some(kept), rows=place[batch.rows[kept]]))
        cases = [self.cases[i] for i in rows]
        without = {
            case.id: self.without_data[case.id] for case in cases if case.id in self.without_data
        }
        aims = [self.aims[i] for i in rows]
        return replace(
            self,
            cases=cases,
            stored=self.stored.take(rows),
            aims=aims,
            batches=batches,
            without_data=without,
        )


def plan_suite(
    pages: Sequence[tuple[Spec, Plan]],
    tier: str,
    products: Sequence[str] = (),
    patterns: Sequence[str] = (),
    given: Sequence[Call] = (),
    each: Each = map,
) -> Suite:
    """The suite of a tier for some pages: enumerated calls, then handwritten ones; only
    ``products`` and ids that match.

    ``given`` calls exist already: what they cover is not made again. ``each`` enumerates the calls
    of every page.
    """
    suite = Suite()
    asked = [
        (spec, plan)
        for spec, plan in pages
        if plan.speaks_of(spec.judges) and (not products or set(products) & set(spec.judges))
    ]
    longest_first = sorted(asked, key=lambda page: -len(page[0].rules))
    drafts = each(
        lambda page: _draft(page[0], page[1], tier, products, patterns, given), longest_first
    )
    found = dict(zip([spec.name for spec, _ in longest_first], drafts, strict=True))
    for spec, plan in asked:
        table, purpose, suite.reports[spec.name] = found[spec.name]
        every, start, most = np.arange(len(table)), len(suite.cases), plan.tiers[tier].elements
        _add(suite, Asked(spec, plan, table.calls(), table, every, purpose, most, start + every))
    return suite


def _draft(
    spec: Spec,
    plan: Plan,
    tier: str,
    products: Sequence[str],
    patterns: Sequence[str],
    given: Sequence[Call],
) -> tuple[CallTable, Purpose, Report]:
    """The calls of one page that are asked for, what each is for, and what enumerating found
    out.
    """
    drafted = with_handwritten(enumerate_calls(spec, plan, tier, given), plan, tier)
    report = drafted.report
    table, purpose = named(drafted)
    within = affordable(table, purpose.kind, purpose.nearest_valid, purpose.ids, plan.tiers[tier])
    report.left_out = int((~within).sum())
    keep = within & (
        np.isin(table.product, [vocabulary().index["product"][product] for product in products])
        if products
        else True
    )
    if patterns:
        asked = [place for places in matching(purpose.ids, patterns).values() for place in places]
        keep &= np.isin(np.arange(len(keep)), asked)
        keep |= np.isin(
            purpose.ids, [purpose.nearest_valid[i] for i in np.flatnonzero(keep).tolist()]
        )
    if tier != CRASHES:
        fatal = crashing(judge(spec, table))
        keep, report.crashing = keep & ~fatal, int(fatal.sum())
    rows = np.flatnonzero(keep)
    return table.take(rows), purpose.take(rows), report


def call_suite(
    calls: Sequence[NamedCall],
    page: Callable[[Call], Spec],
    plan: Callable[[Spec], Plan],
    elements: int = MOST_ELEMENTS,
    given: Mapping[str, Mapping[str, Any]] = _NOTHING,
    recipe: str = DEFAULT,
) -> Suite:
    """Exactly one case per call, under the call's id, in the order of the calls. ``given``: id ->
    the arrays of its tensors, ``recipe`` draws the others.
    """
    suite = Suite()
    number, first = factorize([id(one.call) for one in calls])
    distinct = [calls[i].call for i in first.tolist()]
    specs = [page(call) for call in distinct]
    of_page, starts = factorize(map(id, specs))
    pages = [np.flatnonzero(of_page[number] == i) for i in range(len(starts))]
    for i, places in enumerate(pages):
        mine, spec = np.flatnonzero(of_page == i), specs[starts[i]]
        some, ids = [distinct[j] for j in mine.tolist()], [calls[j].id for j in places.tolist()]
        nothing, aims, arrays = (
            [""] * len(ids),
            [()] * len(ids),
            [given.get(one, _NOTHING) for one in ids],
        )
        purpose = Purpose(["given"] * len(ids), aims, [recipe] * len(ids), nothing, ids, arrays)
        of = np.searchsorted(mine, number[places])
        _add(
            suite,
            Asked(
                spec,
                plan(spec),
                some,
                from_calls(spec.api, spec.kinds, some),
                of,
                purpose,
                elements,
                places,
            ),
        )
    order = np.argsort(np.concatenate([*pages, np.zeros(0, dtype=np.intp)])).tolist()
    cases, stored = [suite.cases[i] for i in order], suite.stored.take(order)
    return replace(suite, cases=cases, stored=stored, aims=[suite.aims[i] for i in order])


def crashing(judged: Judgement) -> np.ndarray:
    """(rows,) bool: where the published library is known to end the host process."""
    answers = answers_to(judged)
    return np.zeros(len(judged.table), dtype=bool) if answers is None else answers.crashing


def _add(suite: Suite, asked: Asked) -> None:
    """Put the cases of a page behind those that are there."""
    made = part(asked)
    suite.specs[asked.spec.name], suite.plans[asked.spec.name] = asked.spec, asked.plan
    suite.cases += made.cases
    suite.stored += made.stored
    suite.aims += asked.purpose.aims
    suite.batches += made.batches
    suite.without_data |= made.without_data
