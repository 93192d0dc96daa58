"""Suites: the cases of a bundle, and the batches that their data are computed in.

A case is a call with an id, expectations and a purpose. Cases that share every shape, stride and attribute form a batch, so
that their tensors stack along a new leading axis. Which cases share a batch changes no bit of any of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from math import prod
from typing import Literal, NamedTuple

import numpy as np

from opgen.binding import TableView
from opgen.calls import NamedCall, make_call, to_plain
from opgen.computable import computable, holdable
from opgen.compute import compute_dtypes
from opgen.enumerator import Drafted, Report, elements, enumerate_calls
from opgen.library import answer
from opgen.model import Call, Case, Kind, TensorDesc
from opgen.numerics import DTYPES, golden_dtype
from opgen.oracle import Judgement, judge
from opgen.plan import Plan
from opgen.spec import Spec
from opgen.table import CallTable, ScalarColumn, TensorColumn, concatenate, from_calls
from opgen.terms import Reference
from opgen.words import words

BATCH_ELEMENTS = 1 << 16
"""Elements of one batch's tensors beyond which it is cut: small enough for the cache, large enough for numpy."""
BATCH_CASES = 64


@dataclass(frozen=True)
class Batch:
    """Cases of one operator that differ in data only.

    ``tensors`` are the call's descriptors, ``names`` the spec's bound names, ``wanted`` the outputs to compute, ``exact`` those
    that no compute mode rounds. ``roles`` names every input of the operator, ``inputs`` those that are no null pointer here.
    """

    op: str
    rows: np.ndarray
    ids: tuple[str, ...]
    tensors: dict[str, TensorDesc]
    inputs: tuple[str, ...]
    names: dict[str, int]
    wanted: tuple[str, ...]
    exact: frozenset[str]
    compute: str
    recipe: str
    roles: dict[str, str]
    factors: int


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

    @property
    def order(self) -> list[int]:
        """Case rows in the order in which batches write them, then those without data."""
        written = [int(row) for batch in self.batches for row in batch.rows]
        rest = set(range(len(self.cases))).difference(written)
        return written + sorted(rest)

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


@dataclass(frozen=True)
class Purpose:
    """What the rows of a table are for, beside their calls."""

    kind: Sequence[Kind]
    intent: Sequence[str]
    recipe: Sequence[str]
    twin: Sequence[str]
    ids: Sequence[str]


def plan_suite(pages: Sequence[tuple[Spec, Plan]], tier: str, products: Sequence[str] = (), patterns: Sequence[str] = ()) -> Suite:
    """The suite of a tier for some pages: enumerated calls, then pinned ones; only ``products`` and ids that match."""
    suite = Suite()
    for spec, plan in pages:
        if products and not set(products) & set(spec.judges):
            continue
        drafted = with_pinned(enumerate_calls(spec, plan, tier), plan, tier)
        suite.reports[spec.name] = drafted.report
        table, purpose = named(drafted)
        keep = np.array([not products or call.product in products for call in table.calls()], dtype=bool)
        if patterns:
            keep &= np.array([any(fnmatchcase(one, pattern) for pattern in patterns) for one in purpose.ids], dtype=bool)
            keep |= np.isin(purpose.ids, [purpose.twin[i] for i in np.flatnonzero(keep)])
        rows = np.flatnonzero(keep)
        _add(suite, spec, plan, table.take(rows), _some(purpose, rows), plan.tiers[tier].elements)
    return suite


def call_suite(calls: Sequence[NamedCall], page: Callable[[Call], Spec], plan: Callable[[Spec], Plan], elements: int = 2**20) -> Suite:
    """Exactly one case per call, under the call's id, in the order of the calls."""
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
        purpose = Purpose(["call"] * len(some), [""] * len(some), ["grid"] * len(some), [""] * len(some), [one.id for one in some])
        _add(suite, spec, plan(spec), table, purpose, elements)
    place = {case.id: row for row, case in enumerate(suite.cases)}
    return suite.some([place[one.id] for one in calls])


def with_pinned(drafted: Drafted, plan: Plan, tier: str) -> Drafted:
    """The drafted calls and a plan's pinned ones, one row per product."""
    spec = drafted.spec
    calls, intents, recipes = [], [], []
    for pin in plan.pinned:
        if tier in pin.tiers:
            for product in pin.products or spec.judges:
                if product in spec.judges:
                    calls.append(make_call(spec.api, product, dict(pin.args), {spec.api: spec.kinds}))
                    intents.append(f"{pin.id}: {pin.why}")
                    recipes.append(pin.recipe)
    if not calls:
        return drafted
    return replace(
        drafted,
        table=concatenate([drafted.table, from_calls(spec.api, spec.kinds, calls)]),
        kind=drafted.kind + ["pinned"] * len(calls),
        intent=drafted.intent + intents,
        recipe=drafted.recipe + recipes,
        twin=np.concatenate([drafted.twin, np.full(len(calls), -1)]),
    )


def named(drafted: Drafted) -> tuple[CallTable, Purpose]:
    """Ids for drafted calls: operator, product, kind and a digest of the call and its recipe; equal calls are one case.

    An id says what a case is, so it stays the same when a plan grows around it.
    """
    order: dict[str, int] = {}
    intents: list[str] = []
    places = np.zeros(len(drafted.table), dtype=np.int64)
    kept: list[int] = []
    for row, call in enumerate(drafted.table.calls()):
        kind, intent = drafted.kind[row], drafted.intent[row]
        label = {"invalid": intent.split()[1] if kind == "invalid" else "", "pinned": intent.split(":")[0]}.get(kind, "")
        text = json.dumps([call.product, to_plain(call), drafted.recipe[row]], separators=(",", ":"))
        digest = hashlib.blake2b(text.encode(), digest_size=5).hexdigest()
        one = "-".join(part for part in (drafted.spec.op, call.product, kind, label, digest) if part)
        if one not in order:
            order[one] = len(kept)
            kept.append(row)
            intents.append(intent)
        elif intent not in intents[order[one]].split("; "):
            intents[order[one]] += f"; {intent}"
        places[row] = order[one]
    ids = list(order)
    twins = ["" if drafted.twin[row] < 0 else ids[places[drafted.twin[row]]] for row in kept]
    kinds: list[Kind] = [drafted.kind[row] for row in kept]  # type: ignore[misc]
    return drafted.table.take(np.array(kept, dtype=np.int64)), Purpose(kinds, intents, [drafted.recipe[r] for r in kept], twins, ids)


def _some(purpose: Purpose, rows: np.ndarray) -> Purpose:
    return Purpose(**{f.name: [getattr(purpose, f.name)[i] for i in rows] for f in fields(purpose)})


def _add(suite: Suite, spec: Spec, plan: Plan, table: CallTable, purpose: Purpose, most: int) -> None:
    """Judge the rows, make them cases, and group those with data into batches."""
    start, judged = len(suite.cases), judge(spec, table)
    answers = answer(judged)
    suite.specs[spec.name], suite.plans[spec.name] = spec, plan
    compute = compute_dtypes(spec, judged.view, len(table))
    wanted = _wanted(spec, judged)
    broken = np.array([kind == "invalid" for kind in purpose.kind], dtype=bool)
    with_data = computable(judged, answers) & ~broken & (elements(table) <= most) & holdable(table)
    calls = table.calls()
    expectations = judged.expectations()
    for row, call in enumerate(calls):
        data = bool(with_data[row])
        outputs = [name for name, asked in wanted.items() if asked[row]] if data else []
        vacuous = "" if not data else "no output is asked for" if not outputs else "the gradient is zero" if purpose.recipe[row] == "zeros" else ""
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
                mistrusted=vacuous,
            )
        )
        suite.stored.append(list(_stored(spec, call, outputs)) if data else [])
    suite.batches += list(_batches(spec, plan, judged, compute, wanted, purpose, np.flatnonzero(with_data), start, calls))


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
    return desc.offset + sum((extent - 1) * stride for extent, stride in zip(desc.shape, desc.strides, strict=True)) + 1 if all(desc.shape) else desc.offset


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


def _batches(
    spec: Spec, plan: Plan, judged: Judgement, compute: np.ndarray, wanted: dict[str, np.ndarray], purpose: Purpose, rows: np.ndarray, start: int, calls: list[Call]
) -> Iterable[Batch]:
    """Rows with data, grouped by everything that shapes their computation."""
    if not len(rows):
        return
    names = [p.name for p in spec.parameters.values() if isinstance(judged.table.columns[p.name], ScalarColumn)] + list(spec.scope.occurrences)
    bound = {name: _bound_column(judged.view, (name, ""), len(judged.table)) for name in names}
    labels = {value: i for i, value in enumerate(sorted(set(compute) | set(purpose.recipe)))}
    columns = [column[rows] for column in _numbers(judged.table)]
    columns += [np.array([labels[compute[row]] for row in rows]), np.array([labels[purpose.recipe[row]] for row in rows])]
    _, groups = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    first: dict[int, int] = {}
    for i, group in enumerate(groups.reshape(-1)):
        first.setdefault(int(group), i)
    for group in sorted(first, key=first.__getitem__):
        members = rows[groups.reshape(-1) == group]
        row = int(members[0])
        tensors = {name: desc for name, desc in calls[row].args.items() if isinstance(desc, TensorDesc)}
        size = max(sum(prod(d.shape) for d in tensors.values()), 1)
        step = max(1, min(BATCH_CASES, BATCH_ELEMENTS // size))
        for i in range(0, len(members), step):
            some = members[i : i + step]
            yield Batch(
                op=spec.op,
                rows=some + start,
                ids=tuple(purpose.ids[r] for r in some),
                tensors=tensors,
                inputs=tuple(p.name for p in spec.inputs if p.name in tensors),
                names={name: int(values[row]) for name, (values, there) in bound.items() if there[row]},
                wanted=tuple(name for name, asked in wanted.items() if asked[row]),
                exact=frozenset(spec.exact),
                compute=compute[row],
                recipe=purpose.recipe[row],
                roles={p.name: plan.roles.get(p.name, "operand") for p in spec.inputs},
                factors=plan.factors,
            )


def _bound_column(view: TableView, reference: Reference, rows: int) -> tuple[np.ndarray, np.ndarray]:
    value = view.get(reference)
    return np.broadcast_to(np.asarray(value.data), rows), np.broadcast_to(np.asarray(value.bound, dtype=bool), rows)


def _numbers(table: CallTable) -> Iterable[np.ndarray]:
    """Every column of a table but the product, one by one."""
    for column in table.columns.values():
        for f in fields(column):
            values = getattr(column, f.name)
            yield from (values.T if values.ndim == 2 else [values])
