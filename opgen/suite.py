"""Suites: the cases of a bundle, and the batches that their data are computed in.

A case is a call with an id, expectations and a purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import prod
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from opgen.batch import Batch as Batch
from opgen.batch import WithData, batches
from opgen.budget import affordable
from opgen.calls import NamedCall
from opgen.computable import computable, holdable
from opgen.costs import elements
from opgen.enumerator import Report, enumerate_calls
from opgen.library import Answers, answer
from opgen.model import Call, Case, TensorDesc
from opgen.modes import compute_dtypes
from opgen.naming import Purpose, named, some_of
from opgen.numerics import DTYPES, golden_dtype
from opgen.oracle import Judgement, judge
from opgen.pinned import with_pinned
from opgen.plan import Plan
from opgen.spec import Spec
from opgen.table import CallTable, from_calls
from opgen.vacuity import mistrusted


class Stored(NamedTuple):
    """One tensor of a case that has data."""

    name: str
    role: Literal["input", "golden", "bound"]
    dtype: str
    elements: int | tuple[int, ...]


@dataclass
class Suite:
    """Everything that a bundle holds, but the data. ``stored[i]`` are the tensors of ``cases[i]``."""

    cases: list[Case] = field(default_factory=list)
    stored: list[list[Stored]] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    reports: dict[str, Report] = field(default_factory=dict)
    specs: dict[str, Spec] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)

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
        return replace(self, cases=[self.cases[i] for i in rows], stored=[self.stored[i] for i in rows], batches=batches)


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
        keep = within & np.array([not products or call.product in products for call in table.calls()], dtype=bool)
        if patterns:
            keep &= np.array([any(fnmatchcase(one, pattern) for pattern in patterns) for one in purpose.ids], dtype=bool)
            keep |= np.isin(purpose.ids, [purpose.twin[i] for i in np.flatnonzero(keep).tolist()])
        if tier != "crash":
            fatal = crashing(judge(spec, table))
            keep, report.crashing = keep & ~fatal, int(fatal.sum())
        rows = np.flatnonzero(keep)
        _add(suite, spec, plan, table.take(rows), some_of(purpose, rows), plan.tiers[tier].elements)
    return suite


def call_suite(
    calls: Sequence[NamedCall], page: Callable[[Call], Spec], plan: Callable[[Spec], Plan], elements: int = 2**20,
    given: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Suite:
    """Exactly one case per call, under the call's id, in the order of the calls. ``given``: id -> the arrays of its tensors."""
    suite = Suite()
    by_page: dict[str, list[NamedCall]] = {}
    specs: dict[str, Spec] = {}
    for one in calls:
        spec = page(one.call)
        specs[spec.name] = spec
        by_page.setdefault(spec.name, []).append(one)
    for name, some in by_page.items():
        spec = specs[name]
        table = from_calls(spec.api, spec.kinds, [one.call for one in some])
        ids, nothing = [one.id for one in some], [""] * len(some)
        purpose = Purpose(["call"] * len(some), nothing, ["grid"] * len(some), nothing, ids, [given.get(one, {}) for one in ids])
        _add(suite, spec, plan(spec), table, purpose, elements, [one.call for one in some])
    place = {case.id: row for row, case in enumerate(suite.cases)}
    return suite.some([place[one.id] for one in calls])


def crashing(judged: Judgement) -> np.ndarray:
    """(rows,) bool: where the published library is known to end the host process."""
    answers: Answers | None = answer(judged)
    if answers is None:
        return np.zeros(len(judged.table), dtype=bool)
    fatal = np.array(["crash" in stage.codes for stage in answers.page.stages] + [False])
    return np.asarray(fatal[answers.stage])  # the last is ACCEPTED, -1


def _add(
    suite: Suite, spec: Spec, plan: Plan, table: CallTable, purpose: Purpose, most: int, calls: Sequence[Call] | None = None
) -> None:
    """Judge the rows, make them cases, and group those with data into batches."""
    start, judged = len(suite.cases), judge(spec, table)
    answers = answer(judged)
    suite.specs[spec.name], suite.plans[spec.name] = spec, plan
    compute = compute_dtypes(spec, judged.view, len(table))
    refused = np.array([kind == "invalid" for kind in purpose.kind], dtype=bool)
    with_data = computable(judged, answers) & ~refused & (elements(table) <= most) & holdable(table)
    wanted = {name: asked & with_data for name, asked in _wanted(spec, judged).items()}
    calls = table.calls() if calls is None else calls
    forms: dict[tuple[int, tuple[str, ...]], list[Stored]] = {}
    expectations = judged.expectations()
    why = mistrusted(judged, plan, wanted, purpose.recipe, purpose.intent)
    for row, call in enumerate(calls):
        data = bool(with_data[row])
        suite.cases.append(
            Case(
                id=purpose.ids[row],
                call=call,
                kind=purpose.kind[row],
                intent=purpose.intent[row],
                page=expectations[row],
                library=answers.answer(row) if answers is not None else None,
                recipe=purpose.recipe[row] if data else "",
                phase=2 if data else 1,
                twin=purpose.twin[row],
                compute=compute[row] if data else "",
                mistrusted=why[row] if data else "",
            )
        )
        outputs = tuple(name for name, asked in wanted.items() if asked[row])
        form = forms.get((id(call.args), outputs)) if data else []
        if form is None:
            form = forms[id(call.args), outputs] = list(_stored(spec, call, outputs))
        suite.stored.append(form)
    data_for = WithData(compute, wanted, purpose.recipe, purpose.ids, purpose.given)
    suite.batches += list(batches(plan, judged, data_for, np.flatnonzero(with_data), start, calls))


def _wanted(spec: Spec, judged: Judgement) -> dict[str, np.ndarray]:
    """Output -> (rows,) bool: where its mask is set and its pointer is not null."""
    rows = len(judged.table)
    found = {}
    for p in spec.outputs:
        asked = ~judged.view.get((p.name, "null")).data
        if p.mask is not None:
            mask = p.mask.read(judged.view)
            asked = asked & np.broadcast_to(np.asarray(mask.data & mask.bound, dtype=bool), rows)
        found[p.name] = asked
    return found


def storage_elements(desc: TensorDesc) -> int:
    """Elements of the buffer that a tensor's view lies in."""
    if desc.storage_shape is not None:
        return prod(desc.storage_shape)
    if desc.strides is None:
        return desc.offset + prod(desc.shape)
    if not all(desc.shape):
        return desc.offset
    return desc.offset + sum((extent - 1) * stride for extent, stride in zip(desc.shape, desc.strides, strict=True)) + 1


def _stored(spec: Spec, call: Call, outputs: Iterable[str]) -> Iterable[Stored]:
    for p in spec.inputs:
        desc = call.args[p.name]
        if isinstance(desc, TensorDesc):
            yield Stored(p.name, "input", desc.dtype, storage_elements(desc))
    for name in outputs:
        desc = call.args[name]
        assert isinstance(desc, TensorDesc)
        yield Stored(name, "golden", golden_dtype(desc.dtype), desc.shape)
        yield Stored(name, "bound", "COMPLEX64" if DTYPES[desc.dtype].complex else "FLOAT", desc.shape)
