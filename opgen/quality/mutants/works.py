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
from opgen.calls.table import from_calls
from opgen.model import Call
from opgen.oracle.judgement import Judgement, judge
from opgen.quality.mutants.mutant import Work
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.planning.fitting import shipped_plan
from opgen.suite.suite import call_suite

UNNAMED = 161002
"""What a device answers where it refuses a call and the page names no code."""


@dataclass(frozen=True)
class Rack:
    """The cases of one page: their rows in the bundle, their calls, and what the page says of
    them.
    """

    spec: Spec
    rows: np.ndarray
    ids: tuple[str, ...]
    calls: tuple[Call, ...]

    @cached_property
    def judged(self) -> Judgement:
        return judge(self.spec, from_calls(self.spec.api, self.spec.kinds, self.calls))

    def on(self, product: str) -> Rack:
        """The same calls on another product."""
        return replace(self, calls=tuple(replace(call, product=product) for call in self.calls))

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


def page_of(op: str, product: str) -> Spec:
    """The page that judges an operator's calls on a product."""
    return catalog().by_page[op, product]


def pages(bundle: Bundle) -> list[Spec]:
    """The pages that the cases of a bundle are judged by."""
    cases, ops, products = (
        bundle.tables["cases"],
        bundle.words["cases.op"],
        bundle.words["cases.product"],
    )
    pairs = sorted(set(zip(cases["op"].tolist(), cases["product"].tolist(), strict=True)))
    return list(
        {
            spec.name: spec
            for spec in (page_of(ops[op], products[product]) for op, product in pairs)
        }.values()
    )


def racks(bundle: Bundle, cases: Sequence[str] | None = None) -> list[Rack]:
    """The cases of a bundle, or those of the given ids, page by page."""
    found: dict[str, list[tuple[int, str, Call]]] = {}
    specs: dict[str, Spec] = {}
    for name in bundle.ids if cases is None else cases:
        call = bundle[name].asked
        spec = page_of(call.api, call.product)
        specs[spec.name] = spec
        found.setdefault(spec.name, []).append((bundle.rows[name], name, call))
    return [
        Rack(
            specs[page],
            np.array([row for row, _, _ in some]),
            tuple(name for _, name, _ in some),
            tuple(call for _, _, call in some),
        )
        for page, some in found.items()
    ]


def works(bundle: Bundle, rack: Rack, accepted: np.ndarray | None = None) -> Iterator[Work]:
    """The cases of a page that have data and that a device accepts, batch by batch.

    ``accepted`` (rows,) bool are those that it accepts, if its checker is a wrong one.
    """
    taken = rack.status(rack.judged.broken) == 0 if accepted is None else accepted
    table = bundle.tables["cases"]["phase"]
    chosen = [i for i in range(len(rack)) if table[rack.rows[i]] == 2 and taken[i]]
    calls = {rack.ids[i]: rack.calls[i] for i in chosen}
    plan = shipped_plan(catalog().of(rack.spec.api))
    named = [NamedCall(name, call, {}) for name, call in calls.items()]
    suite = call_suite(named, lambda call: rack.spec, lambda spec: plan, elements=2**62)
    for batch in suite.batches:
        if batch.wanted:
            storage = {
                name: np.stack([bundle[case].storage[name] for case in batch.ids])
                for name in batch.inputs
            }
            yield Work(rack.spec, batch, calls[batch.ids[0]].args, storage, batch.gradient)
