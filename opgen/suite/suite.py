"""Suites: the cases of a bundle, and the batches that their data are computed in.

A case is a call with an id, expectations and a purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from opgen.calls.case_table import CaseTable
from opgen.calls.stored_tensors import StoredTensors
from opgen.oracle.errata import Errata
from opgen.oracle.judgement import Judgement
from opgen.oracle.library import answers_to
from opgen.spec.spec import Spec
from opgen.suite.batch import Batch, Given, batches
from opgen.suite.budget import CaseLimit, LeftOut
from opgen.suite.enumeration.enumeration_report import EnumerationReport
from opgen.suite.identity import Identity, identity
from opgen.suite.labelling import label
from opgen.suite.planning.plan import Plan
from opgen.suite.stored import stored

PlannedPage: TypeAlias = tuple[Spec, Plan]
"""A page, and the plan that its cases are made by."""

Source: TypeAlias = Mapping[str, Errata] | None
"""Api -> errata; None for those that opgen ships."""


@dataclass
class Suite:
    """Everything that a bundle holds, but the data. ``stored`` are the tensors of ``cases``.

    ``without_data``: id -> why a case has none although its call is accepted. ``left_out`` is what
    limits leave out.
    """

    cases: CaseTable
    stored: StoredTensors = field(default_factory=lambda: StoredTensors.concatenate([]))
    batches: list[Batch] = field(default_factory=list)
    reports: dict[str, EnumerationReport] = field(default_factory=dict)
    specs: dict[str, Spec] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    without_data: dict[str, str] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
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

    def rows_of(self, page: str) -> np.ndarray:
        """The rows of the cases that a page judges."""
        return self.cases.rows_of(self.specs[page].api, self.specs[page].judges)

    def subset(self, rows: Sequence[int] | np.ndarray) -> Suite:
        """The cases at ``rows``, in that order, with their batches cut down to them."""
        rows = np.asarray(rows, dtype=np.int64)
        place = np.full(len(self.cases), -1)
        place[rows] = np.arange(len(rows))
        kept = [(batch, np.flatnonzero(place[batch.rows] >= 0).tolist()) for batch in self.batches]
        batches = [replace(b.subset(k), rows=place[b.rows[k]]) for b, k in kept if k]
        cases = self.cases.take(rows)
        without = {name: self.without_data[name] for name in cases.id if name in self.without_data}
        return replace(
            self,
            cases=cases,
            stored=self.stored.take(rows),
            batches=batches,
            without_data=without,
        )

    def without(self, why: Mapping[str, str]) -> Suite:
        """The suite without the data of some cases, by id, for the reasons that are given."""
        cases, lost = self.cases, np.isin(self.cases.id, list(why))
        return replace(
            self,
            cases=replace(
                cases,
                recipe=cases.recipe.where(~lost, ""),
                phase=np.where(lost, 1, cases.phase),
                compute=cases.compute.where(~lost, ""),
                inconclusive=cases.inconclusive.where(~lost, ""),
            ),
            stored=replace(self.stored, of=np.where(lost, 0, self.stored.of)),
            batches=[batch for batch in self.batches if not lost[batch.rows].all()],
            without_data={**self.without_data, **why},
        )


def crashing(judged: Judgement, source: Source = None) -> np.ndarray:
    """(rows,) bool: where the published library is known to end the host process."""
    answers = answers_to(judged, source)
    return np.zeros(len(judged.table), dtype=bool) if answers is None else answers.crashing


def labelled_suite(
    plan: Plan,
    judged: Judgement,
    cases: CaseTable,
    given: Given,
    limit: CaseLimit,
    source: Source = None,
) -> Suite:
    """The suite of cases that make calls of one judged table."""
    used, row = np.unique(cases.row, return_inverse=True)
    judged = judged.take(used)
    cases = replace(cases, calls=(judged.table,), row=row)
    labelled, without_data = label(plan, judged, cases, given, limit, source)
    too_large = tuple(name for name, why in without_data.items() if why == limit.why)
    rows = np.flatnonzero(labelled.phase == 2)
    with_data, of = np.unique(row[rows], return_inverse=True)
    held = np.full(len(cases), -1)
    held[rows] = of
    return Suite(
        labelled,
        stored(judged, with_data, held),
        list(batches(plan, judged, cases, rows, given)),
        without_data=without_data,
        left_out=(LeftOut(judged.spec.name, limit.key, too_large, True),) if too_large else (),
    )


def joined(
    pages: Sequence[PlannedPage], parts: Sequence[Suite], places: Sequence[np.ndarray]
) -> Suite:
    """The suites of several pages as one, in which the cases of each stand at some ``places``."""
    order = np.argsort(np.concatenate([*places, np.zeros(0, dtype=np.int64)]), kind="stable")
    for part, place in zip(parts, places, strict=True):
        for batch in part.batches:
            batch.rows = place[batch.rows]
    return Suite(
        CaseTable.concatenate([part.cases for part in parts]).take(order),
        StoredTensors.concatenate([part.stored for part in parts]).take(order),
        [batch for part in parts for batch in part.batches],
        {name: report for part in parts for name, report in part.reports.items()},
        {spec.name: spec for spec, _ in pages},
        {spec.name: plan for spec, plan in pages},
        {name: why for part in parts for name, why in part.without_data.items()},
        tuple(one for part in parts for one in part.left_out),
    )
