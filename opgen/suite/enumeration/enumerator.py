"""spec + plan + tier -> the calls of a suite: legal ones, ones at each limit, ones that break a
rule, ones that break two.

The oracle labels everything; what it does not confirm is dropped and counted. The order is fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from opgen.calls.aims import Aim, Aims
from opgen.calls.layout import elements, representable
from opgen.calls.table import CallTable, concatenate, from_calls
from opgen.model import Call, FileError, Problem
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.rules import Rule
from opgen.spec.spec import Spec
from opgen.suite.covering import Cover, Model, cover, explain
from opgen.suite.enumeration import picking
from opgen.suite.enumeration.edited import Edited
from opgen.suite.enumeration.faultpairs import fault_pairs
from opgen.suite.enumeration.levels import levels_of
from opgen.suite.enumeration.reasons import by_default, unreachable, untried
from opgen.suite.planning.choices import Choices
from opgen.suite.planning.plan import Plan, Tier
from opgen.suite.planning.proposals import MOST_EDITS

_BORROWED = 1e18
"""What a legal call that is not the tier's own weighs beside its elements: it is edited only where
no other can be."""


@dataclass(frozen=True)
class Drafted:
    """The calls of one spec as a table, and beside each row what it is for.

    ``nearest_valid`` is the row of the nearest legal call of an invalid one, -1 otherwise.
    ``given``: row -> input -> values that no recipe draws.
    """

    spec: Spec
    table: CallTable
    kind: list[str]
    aims: list[Aims]
    recipe: list[str]
    nearest_valid: np.ndarray
    report: Report
    given: Mapping[int, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)


@dataclass
class Report:
    """What enumerating found out about a spec and a plan.

    ``levels`` are the choices of the covering calls, (calls, axes). ``dropped`` of them broke a
    rule after all; ``left_out`` calls did not fit the tier's budget; ``crashing`` ones are known to
    end the host process. ``given`` legal calls existed already and were counted as covering.
    ``untried``: value of an axis -> what forbids every call that has it, or that was tried.
    """

    cover: Cover | None = None
    model: Model | None = None
    levels: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    dropped: int = 0
    left_out: int = 0
    crashing: int = 0
    given: int = 0
    sampled: tuple[str, ...] = ()
    unreached: dict[str, str] = field(default_factory=dict)
    untried: dict[str, str] = field(default_factory=dict)


@dataclass
class _Part:
    """Rows in the making; their nearest valid calls are given later, when all parts have their
    places.
    """

    table: CallTable
    kind: str
    aims: list[Aims]
    recipe: list[str]
    nearest_valid: list[int] = field(default_factory=list)


def enumerate_calls(spec: Spec, plan: Plan, tier_name: str, given: Sequence[Call] = ()) -> Drafted:
    """Every call that a tier of a plan makes for one page. What the legal ones of ``given`` cover
    already is not made again.
    """
    tier = plan.tiers[tier_name]
    choices = Choices(spec, plan, tier_name)
    report = Report(sampled=choices.constraints.sampled)
    rows, own = _legal_rows(choices, tier, report, _seeds(choices, given, report))
    draft = choices.draft(rows)
    legal = judge(spec, draft.table())
    recipes = choices.recipes(rows)
    first = _Part(
        legal.table.take(np.arange(own)),
        "valid",
        [(Aim("covers", note=f"{tier.strength}-wise"),)] * own,
        recipes[:own],
    )
    if not (tier.invalid or tier.limits or tier.pairs):
        return _joined(spec, [first], report)
    cost = elements(legal.table) + np.where(np.arange(len(rows)) < own, 0.0, _BORROWED)
    edited = Edited(choices, rows, draft, legal, cost, bases=max(2, min(tier.invalid, 3)))
    edited.edit_legal()
    edited.edit_again()
    for _ in range(MOST_EDITS):
        if not edited.edit_towards():
            break
    return _joined(
        spec,
        [first, *_edited_parts(edited, tier, report, legal, choices.recipes_of_edits(rows), own)],
        report,
    )


def _refuse(choices: Choices, why: str, rules: Iterable[str]) -> NoReturn:
    text = f"makes no legal call of {choices.spec.file}: {why}{by_default(choices, rules)}"
    raise FileError([Problem(choices.plan.file, None, "axes", text)])


def _seeds(choices: Choices, given: Sequence[Call], report: Report) -> np.ndarray | None:
    """The choices that would have made the given calls of this page, -1 where a call has a value
    that no axis has.
    """
    spec = choices.spec
    mine = [call for call in given if call.api == spec.api and call.product in spec.judges]
    if not mine:
        return None
    judged = judge(spec, from_calls(spec.api, spec.kinds, mine))
    report.given = int(judged.valid.sum())
    return levels_of(choices, judged, [""] * len(mine))


def _legal_rows(
    choices: Choices, tier: Tier, report: Report, seeds: np.ndarray | None
) -> tuple[np.ndarray, int]:
    """(choices of legal calls, how many of them are the tier's own): the rest, pairwise, are what a
    small tier edits.
    """
    tables = choices.constraints.tables
    report.model = Model(choices.shape, tuple((axes, allowed) for axes, allowed, _ in tables))
    if clash := [tables[i] for i in explain(report.model, ())]:
        axes = dict.fromkeys(choices.axes[i].name for places, _, _ in clash for i in places)
        rules = dict.fromkeys(rule for _, _, names in clash for rule in names)
        _refuse(choices, f"all values of {', '.join(axes)} break {', '.join(rules)}", rules)
    groups = [
        ([choices.position(axis) for axis in axes], strength) for axes, strength in tier.groups
    ]
    strength = min(tier.strength, len(choices.axes))
    found = np.zeros((0, len(choices.axes)), dtype=np.int64)
    if strength:
        report.cover = cover(report.model, strength, groups=groups, seeds=seeds, budget=tier.cases)
        found = np.asarray(report.cover.rows)
    few = (
        strength == 1
        or seeds is not None
        or (not strength and bool(tier.invalid or tier.limits or tier.pairs))
    )
    more = np.asarray(cover(report.model, min(2, len(choices.axes))).rows) if few else found[:0]
    rows = np.concatenate([found, more])
    judged = judge(choices.spec, choices.draft(rows).table())
    legal = judged.valid & representable(judged.table)
    if len(rows) and not legal.any():
        always = [
            rule.id
            for rule, broken in zip(choices.spec.rules, judged.broken, strict=True)
            if broken.all()
        ]
        _refuse(
            choices,
            "all break"
            f" {', '.join(always) or 'one rule or another, or need numbers of more than 64 bits'}",
            always,
        )
    kept = legal[: len(found)]
    own, report.levels = int(kept.sum()), found[kept]
    report.dropped = len(found) - own
    if strength:
        covering = report.levels if seeds is None else np.concatenate([report.levels, seeds])
        report.untried = dict(
            untried(
                choices,
                report.model,
                covering,
                found[~kept],
                judged.broken[:, : len(found)][:, ~kept],
            )
        )
    return rows[legal], own


def _edited_parts(
    edited: Edited, tier: Tier, report: Report, legal: Judgement, recipes: list[str], own: int
) -> Iterable[_Part]:
    """Limits, broken calls, the valid calls nearest to them, and calls that break two rules."""
    spec, rules = edited.spec, edited.spec.rules
    own_legal = judge(spec, legal.table.take(np.arange(own)))
    limits: dict[int, list[Aim]] = {}
    broken: dict[int, list[Aim]] = {}
    singles: dict[str, list[int]] = {}
    for number, (r, _) in enumerate(edited.guards):
        rule, guard = edited.rule(number)
        if tier.limits and guard.require.is_inequality:
            for row in picking.limits(edited, number, tier.limits):
                limits.setdefault(row, []).append(Aim("limits", (rule.id,)))
        for row in picking.members(edited, number, own_legal) if tier.limits else ():
            limits.setdefault(row, []).append(Aim("lists", (rule.id,)))
        if rule.forbids:
            for row in picking.with_least_company(edited, number, tier.invalid):
                broken.setdefault(row, []).append(
                    Aim("breaks", (rule.id, *picking.company(edited, row, (r,))))
                )
                singles.setdefault(rule.id, []).append(row)
    report.unreached = {
        rule.id: _why(rule, spec)
        for rule in rules
        if rule.forbids and tier.invalid and rule.id not in singles
    }
    orders = fault_pairs(edited, singles, tier.pairs) if tier.pairs else {}
    near = edited.nearest(broken)
    base = edited.made.proposals.base
    started = sorted({int(base[row]) for row in [*broken, *orders] if row not in near})
    extra = [row for row in started if row >= own]
    neighbours = list(dict.fromkeys(near.values()))
    place = {row: i for i, row in enumerate(extra)}
    after = own + len(extra)
    named = {row: after + i for i, row in enumerate(neighbours)}

    def nearest(row: int) -> int:
        if row in near:
            return named[near[row]]
        return int(base[row]) if base[row] < own else own + place[int(base[row])]

    def part(
        rows: Sequence[int],
        kind: str,
        aims: Iterable[Iterable[Aim]],
        nearest_valid: list[int] | None = None,
    ) -> _Part:
        recipe = [recipes[base[row]] for row in rows]
        return _Part(
            edited.made.judged.table.take(np.array(rows, dtype=np.int64)),
            kind,
            list(map(tuple, aims)),
            recipe,
            nearest_valid or [],
        )

    for_another = (Aim("nearest_valid"),)
    yield _Part(
        legal.table.take(np.array(extra, dtype=np.int64)),
        "valid",
        [for_another] * len(extra),
        [recipes[row] for row in extra],
    )
    yield part(neighbours, "valid", [for_another] * len(neighbours))
    yield part(list(limits), "valid", limits.values())
    yield part(list(broken), "invalid", broken.values(), [nearest(row) for row in broken])
    yield part(
        list(orders),
        "invalid",
        [(aim,) for aim in orders.values()],
        [nearest(row) for row in orders],
    )


def _why(rule: Rule, spec: Spec) -> str:
    return (
        unreachable(rule, spec) or "no edit of a legal call, and no edit of a broken one, breaks it"
    )


def _joined(spec: Spec, parts: list[_Part], report: Report) -> Drafted:
    parts = [part for part in parts if len(part.table)]
    sizes = [len(part.table) for part in parts]
    return Drafted(
        spec,
        (
            concatenate([part.table for part in parts])
            if parts
            else from_calls(spec.api, spec.kinds, [])
        ),
        [part.kind for part in parts for _ in part.aims],
        [aims for part in parts for aims in part.aims],
        [one if part.kind == "valid" else "" for part in parts for one in part.recipe],
        np.array(
            [
                row
                for part, size in zip(parts, sizes, strict=True)
                for row in part.nearest_valid or [-1] * size
            ],
            dtype=np.int64,
        ),
        report,
    )
