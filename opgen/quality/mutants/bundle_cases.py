"""The cases of a bundle as a device gets them: tables of calls by page, and batches of cases with
their inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.calls.jsonl import NamedCall
from opgen.calls.table import CallTable
from opgen.calls.vocabulary import vocabulary
from opgen.comparison.calls_by_page import calls_by_page
from opgen.oracle.judgement import Judgement, judge
from opgen.quality.mutants.mutant import DeviceBatch
from opgen.spec.catalog import edition_of
from opgen.spec.compute_dtype import modes_of
from opgen.spec.spec import Spec
from opgen.suite.budget import NO_LIMIT
from opgen.suite.given_calls import call_suite
from opgen.suite.planning.plan_check import shipped_plan

UNNAMED = 161002
"""What a device answers where it refuses a call and the page names no code."""


@dataclass(frozen=True)
class PageCases:
    """The cases of one page: their rows in the bundle, their ids, their calls, and what the page
    says of them.
    """

    spec: Spec
    rows: np.ndarray
    ids: tuple[str, ...]
    table: CallTable

    @cached_property
    def judged(self) -> Judgement:
        """What the page says of every call."""
        return judge(self.spec, self.table)

    @cached_property
    def statuses(self) -> dict[str, int]:
        """Id -> what a correct device answers."""
        return dict(zip(self.ids, self.status(self.judged.broken).tolist(), strict=True))

    @cached_property
    def modes(self) -> np.ndarray:
        """(rows,) int: the position of the page's mode that applies to each call, -1 for none."""
        return modes_of(self.spec, self.judged.view, len(self))

    def on(self, product: str) -> PageCases:
        """The same calls on another product."""
        number = vocabulary().index["product"][product]
        return replace(
            self, table=replace(self.table, product=np.full_like(self.table.product, number))
        )

    def __len__(self) -> int:
        return len(self.rows)

    def status(self, broken: np.ndarray) -> np.ndarray:
        """(rows,) what a device answers that finds these rules broken, (rules, rows): the first
        one's code.
        """
        result = np.zeros(len(self), dtype=np.int64)
        for rule, rows in zip(reversed(self.spec.rules), broken[::-1], strict=True):
            if rule.forbids:
                result[rows] = UNNAMED if rule.code is None else rule.code
        return result


def cases_by_page(bundle: Bundle, ids: Sequence[str] | None = None) -> list[PageCases]:
    """The cases of a bundle, or those of the given ids, page by page."""
    asked = range(len(bundle)) if ids is None else [bundle.rows[id] for id in ids]
    return [
        PageCases(spec, rows, tuple([bundle.ids[row] for row in rows.tolist()]), table)
        for spec, rows, table in calls_by_page(bundle, asked)
    ]


def device_batches(
    bundle: Bundle, cases: PageCases, accepted: np.ndarray | None = None
) -> Iterator[DeviceBatch]:
    """The cases of a page that have data and that a device accepts, batch by batch.

    ``accepted`` (rows,) bool are those that it accepts, if its checker is a wrong one.
    """
    if accepted is None:
        accepted = cases.status(cases.judged.broken) == 0
    rows = np.flatnonzero(accepted & (bundle.tables["cases"]["phase"][cases.rows] == 2))
    ids = [cases.ids[row] for row in rows.tolist()]
    calls = dict(zip(ids, cases.table.take(rows).calls(), strict=True))
    named = [NamedCall(id, call, {}) for id, call in calls.items()]
    plan = shipped_plan(cases.spec.api, edition_of(bundle.header))
    suite = call_suite(named, lambda call: cases.spec, lambda spec: plan, limit=NO_LIMIT)
    for batch in suite.batches:
        if batch.wanted:
            storage = {
                name: np.stack([bundle[id].storage[name] for id in batch.ids])
                for name in batch.inputs
            }
            args, mode = calls[batch.ids[0]].args, cases.modes[rows[batch.rows[0]]]
            yield DeviceBatch(cases.spec, batch, args, storage, batch.gradient, int(mode))
