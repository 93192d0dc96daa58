"""spec + plan + tier -> the calls of a suite: legal ones, ones at each limit, and ones that break each rule.

The oracle labels everything; what it does not confirm is dropped and counted. The order is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from opgen.breaker import Proposer, Proposals, guard_broken, slack
from opgen.choices import Choices
from opgen.covering import Cover, Model, cover
from opgen.draft import Draft
from opgen.oracle import ORDER, Judgement, judge
from opgen.plan import Plan, Tier
from opgen.spec import Spec
from opgen.table import CallTable, TensorColumn, concatenate
from opgen.words import words

_COMPANY = ("stated", "unstated", "unsupported_product", "disputed")
"""Buckets whose rules are company; an assumed rule that breaks along is mentioned and weighs less."""


@dataclass(frozen=True)
class Drafted:
    """The calls of one spec as a table, and beside each row what it is for.

    ``twin`` is the row of the nearest legal call of an invalid one, -1 otherwise.
    """

    spec: Spec
    table: CallTable
    kind: list[str]
    intent: list[str]
    recipe: list[str]
    twin: np.ndarray
    report: Report


@dataclass
class Report:
    """What enumerating found out about a spec and a plan."""

    cover: Cover | None = None
    axes: list[str] = field(default_factory=list)
    dropped: int = 0
    sampled: tuple[str, ...] = ()
    unreached: dict[str, str] = field(default_factory=dict)
    company: dict[str, tuple[str, ...]] = field(default_factory=dict)
    invalid: dict[str, int] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)


def enumerate_calls(spec: Spec, plan: Plan, tier_name: str) -> Drafted:
    """Every call that a tier of a plan makes for one page."""
    tier = plan.tiers[tier_name]
    choices = Choices(spec, plan, tier_name)
    report = Report(axes=[axis.name for axis in choices.axes], sampled=choices.constraints.sampled)
    own = _legal_rows(choices, tier, report)
    pool = own if tier.strength >= 2 else np.concatenate([own, _pairwise(choices)])
    legal = judge(spec, choices.draft(pool).table())
    report.dropped = int((~legal.valid[: len(own)]).sum())
    pool, own = pool[legal.valid], own[legal.valid[: len(own)]]
    draft = choices.draft(pool)
    legal = judge(spec, draft.table())
    edited = _edited(choices, tier, draft, pool, legal, report, len(own)) if tier.invalid or tier.limits else []
    twins = np.unique(np.concatenate([part.twin for part in edited] or [np.array([], dtype=np.int64)]))
    kept = np.concatenate([np.arange(len(own)), twins[twins >= len(own)]])
    place = np.full(len(pool) + 1, -1)
    place[kept] = np.arange(len(kept))
    intents = [f"{tier.strength}-wise"] * len(own) + ["the legal twin of a broken call"] * (len(kept) - len(own))
    first = _Part(legal.table.take(kept), ["valid"] * len(kept), intents, choices.recipes(pool[kept]), np.full(len(kept), -1))
    return _joined(spec, [first, *(replace(part, twin=place[part.twin]) for part in edited)], report)


@dataclass(frozen=True)
class _Part:
    table: CallTable
    kind: list[str]
    intent: list[str]
    recipe: list[str]
    twin: np.ndarray


def _legal_rows(choices: Choices, tier: Tier, report: Report) -> np.ndarray:
    model = Model(choices.shape, tuple((axes, allowed) for axes, allowed, _ in choices.constraints.tables))
    groups = [([choices.position(axis) for axis in axes], strength) for axes, strength in tier.groups]
    report.cover = cover(model, min(tier.strength, len(choices.axes)), groups=groups, budget=tier.cases)
    return np.asarray(report.cover.rows)


def _pairwise(choices: Choices) -> np.ndarray:
    """Legal rows with every feasible pair: what a small tier breaks its calls from."""
    model = Model(choices.shape, tuple((axes, allowed) for axes, allowed, _ in choices.constraints.tables))
    return np.asarray(cover(model, min(2, len(choices.axes))).rows)


def elements(table: CallTable) -> np.ndarray:
    """(rows,) float64: elements of all tensors of a call, the storage of views included; what a case costs to hold."""
    total = np.zeros(len(table))
    for column in table.columns.values():
        if isinstance(column, TensorColumn):
            total += np.abs(np.where(column.strided[:, None], _fit(column.storage, column.shape), column.shape).astype(np.float64)).prod(axis=1)
    return total


def _fit(storage: np.ndarray, shape: np.ndarray) -> np.ndarray:
    width = shape.shape[1]
    return storage if storage.shape[1] == width else np.pad(storage, ((0, 0), (0, width - storage.shape[1])), constant_values=1)


def _edited(choices: Choices, tier: Tier, draft: Draft, rows: np.ndarray, legal: Judgement, report: Report, own: int) -> list[_Part]:
    """Calls at each limit and calls that break each rule; the first ``own`` rows are preferred to start from."""
    spec = choices.spec
    cost = elements(legal.table) + np.where(np.arange(len(rows)) < own, 0.0, 1e18)
    proposer = Proposer(legal, bases=max(2, tier.invalid // 2), cost=cost)
    proposals = proposer.proposals()
    edited = choices.draft(rows[proposals.base])
    edited.edits, edited.before, edited.came_from, edited.frozen = proposals.edits(), draft, proposals.base, proposals.frozen
    judged = judge(spec, edited.table())
    recipes = choices.recipes(rows[proposals.base])
    weights = np.array([1000 if rule.bucket in _COMPANY else 1 for rule in spec.rules])
    weight = (judged.broken * weights[:, None]).sum(axis=0)
    size = elements(judged.table)
    invalid: list[tuple[int, str, int]] = []
    limits: list[tuple[int, str]] = []
    for number, (r, g) in enumerate(proposer.guards):
        rule, guard = spec.rules[r], spec.rules[r].guards[g]
        mine = np.flatnonzero(proposals.guard == number)
        if not len(mine):
            report.unreached.setdefault(rule.id, "applies to no legal call of the products that this page judges")
            continue
        part = judge_rows(judged, mine)
        broken = guard_broken(guard, part.view, len(mine)) & judged.broken[r, mine]
        distance = slack(guard, part.view, len(mine))
        if tier.invalid and rule.bucket in ("stated", "unstated", "unsupported_product"):
            chosen = _pick(mine[broken], (weight[mine[broken]] - weights[r], distance[broken], size[mine[broken]]), judged, proposals, tier.invalid)
            for row in chosen:
                others = tuple(other.id for i, other in enumerate(spec.rules) if judged.broken[i, row] and i != r)
                kept = report.company.get(rule.id)
                report.company[rule.id] = others if kept is None or len(others) < len(kept) else kept
                invalid.append((row, f"breaks {rule.id}" + (f" with {', '.join(others)}" if others else ""), int(proposals.base[row])))
            report.invalid[rule.id] = report.invalid.get(rule.id, 0) + len(chosen)
        if tier.limits and guard.require.operator in ("<", "<=", ">", ">="):
            good = judged.valid[mine]
            chosen = _pick(mine[good], (distance[good], size[mine[good]]), judged, proposals, tier.limits)
            limits += [(row, f"at the limit of {rule.id}") for row in chosen]
            report.limits[rule.id] = report.limits.get(rule.id, 0) + len(chosen)
    for rule in spec.rules:
        if rule.bucket in ("stated", "unstated", "unsupported_product") and not report.invalid.get(rule.id):
            report.unreached.setdefault(rule.id, "no edit of a legal call breaks it")
        else:
            report.unreached.pop(rule.id, None)
    limit_rows = np.array([row for row, _ in limits], dtype=np.int64)
    bad_rows = np.array([row for row, _, _ in invalid], dtype=np.int64)
    return [
        _Part(judged.table.take(limit_rows), ["valid"] * len(limits), [why for _, why in limits], [recipes[i] for i in limit_rows], np.full(len(limits), -1)),
        _Part(judged.table.take(bad_rows), ["invalid"] * len(invalid), [why for _, why, _ in invalid], [""] * len(invalid), np.array([b for _, _, b in invalid], dtype=np.int64)),
    ]


def judge_rows(judged: Judgement, rows: np.ndarray) -> Judgement:
    """The same judgement of some rows, with a view of its own."""
    return judge(judged.spec, judged.table.take(rows))


def _pick(rows: np.ndarray, keys: tuple[np.ndarray, ...], judged: Judgement, proposals: Proposals, most: int) -> list[int]:
    """The best rows of each product, at most ``most``, each by editing another name or to another value."""
    chosen: list[int] = []
    order = np.lexsort(tuple(reversed(keys))) if len(rows) else rows
    taken: dict[int, set[tuple[int, int]]] = {}
    for row in rows[order]:
        product = int(judged.table.product[row])
        edits = taken.setdefault(product, set())
        edit = (int(proposals.target[row]), int(proposals.value[row]))
        if len(edits) < most and edit not in edits:
            edits.add(edit)
            chosen.append(int(row))
    return chosen


def _joined(spec: Spec, parts: list[_Part], report: Report) -> Drafted:
    return Drafted(
        spec,
        concatenate([p.table for p in parts]),
        [k for p in parts for k in p.kind],
        [i for p in parts for i in p.intent],
        [r for p in parts for r in p.recipe],
        np.concatenate([p.twin for p in parts]),
        report,
    )
