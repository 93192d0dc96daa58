"""spec + plan + tier -> the calls of a suite: valid ones, ones at each limit, ones that break a
rule, ones that break two.

The oracle labels everything; what it does not confirm is dropped and counted. The order is fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

import numpy as np

from opgen.calls.categorical import Categorical
from opgen.calls.layout import representable
from opgen.calls.purposes import Purpose, Purposes
from opgen.calls.table import CallTable, found_in, from_calls
from opgen.model import Call, FileError, Kind, Problem
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.sizes import shipped_sizes
from opgen.spec.spec import Spec
from opgen.suite.covering import Model, explain
from opgen.suite.enumeration import violations
from opgen.suite.enumeration.bounded_cover import cover_plan
from opgen.suite.enumeration.edit_search import EditSearch
from opgen.suite.enumeration.error_precedence import precedence_calls
from opgen.suite.enumeration.levels import levels_of
from opgen.suite.enumeration.modes import mode_calls, mode_levels
from opgen.suite.enumeration.reasons import by_default, unreachable, untried
from opgen.suite.enumeration.size_calls import size_calls
from opgen.suite.enumeration.valid_calls import ValidCalls
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.plan import Plan
from opgen.suite.planning.plan_form import Tier

RANDOM_STATE = 7
"""What ties between rows are broken by."""
SIZED = 2
"""The strength of a tier from which on it has calls of the sizes that matter."""
_COVERED = {1: "value", 2: "pair", 3: "triple"}


@dataclass
class EnumerationReport:
    """What enumerating found out about a spec and a plan.

    ``levels`` are the values of the covering calls, (calls, axes). ``dropped`` of them broke a
    rule after all; ``crashing`` ones are known to end the host process, and only such calls break
    the rules ``fatal``. ``given`` valid calls existed already and were counted as covering.
    ``untried``: value of an axis -> what forbids every call that has it, or that was tried.
    """

    cover: np.ndarray | None = None
    model: Model | None = None
    levels: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    dropped: int = 0
    crashing: int = 0
    fatal: tuple[str, ...] = ()
    given: int = 0
    sampled: tuple[str, ...] = ()
    unreached: dict[str, str] = field(default_factory=dict)
    untried: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Enumeration:
    """The calls of one page, judged, and what each is for; equal calls may stand there twice.

    ``nearest_valid`` is the row of the nearest valid call of an invalid one, -1 otherwise.
    ``given``: row -> input -> values that no recipe draws.
    """

    judged: Judgement
    kind: Categorical[Kind]
    purposes: Categorical[Purposes]
    recipe: Categorical[str]
    nearest_valid: np.ndarray
    report: EnumerationReport
    given: Mapping[int, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)


class _Chosen(NamedTuple):
    """A call that a suite takes: its row among valid calls and edited ones behind them, and the row
    of its nearest valid call.
    """

    row: int
    kind: Kind
    purposes: Purposes
    recipe: str
    nearest_valid: int = -1


def enumerate_calls(
    spec: Spec,
    plan: Plan,
    tier_name: str,
    given: Sequence[Call] = (),
    random_state: int = RANDOM_STATE,
) -> Enumeration:
    """Every call that a tier of a plan makes for one page. What the valid ones of ``given`` cover
    already is not made again. Ties between calls are broken by ``random_state``.
    """
    tier = plan.tiers[tier_name]
    compiled = CompiledPlan(spec, plan, tier_name)
    report = EnumerationReport(sampled=compiled.constraints.sampled)
    mine = [call for call in given if call.api == spec.api and call.product in spec.judges]
    existing = from_calls(spec.api, spec.kinds, mine)
    seeds = _seeds(compiled, existing, report) if mine else None
    drafted = _valid_calls(compiled, tier, report, seeds, random_state)
    own = np.flatnonzero(drafted.valid[: drafted.own])
    covers = (Purpose("covers", note=_coverage(tier.strength)),)
    recipes = compiled.recipes(drafted.levels)
    chosen = [_Chosen(row, "valid", covers, recipes[row]) for row in own.tolist()]
    if tier.limits:
        for row, recipe, compute in mode_calls(compiled, drafted):
            chosen.append(_Chosen(row, "valid", (Purpose("computes", note=compute),), recipe))
    judged = [drafted.judged]
    if tier.invalid or tier.limits or tier.pairs:
        search = EditSearch(compiled, drafted, bases=min(tier.invalid + 1, 3))
        search.run()
        chosen += _edited(search, tier, report, own)
        judged.append(search.edited.judged)
    if tier.limits and tier.strength >= SIZED and not spec.status_only:
        sized, notes, recipe = size_calls(compiled, shipped_sizes(), tier.strength)
        behind = sum(len(part.table) for part in judged)
        known = found_in(existing, sized.table)
        chosen += [
            _Chosen(behind + row, "valid", (Purpose("note", note=note),), recipe)
            for row, note in enumerate(notes)
            if not known[row]
        ]
        judged.append(sized)
    place = {pick.row: i for i, pick in reversed(list(enumerate(chosen)))}
    return Enumeration(
        Judgement.concatenate(judged).take(np.array([pick.row for pick in chosen], dtype=np.int64)),
        Categorical.of([pick.kind for pick in chosen]),
        Categorical.of([pick.purposes for pick in chosen]),
        Categorical.of([pick.recipe for pick in chosen]),
        np.array([place.get(pick.nearest_valid, -1) for pick in chosen], dtype=np.int64),
        report,
    )


def _coverage(strength: int) -> str:
    """What a covering array of a strength covers, in words."""
    return f"covers every {_COVERED.get(strength, f'combination of {strength} values')}"


def _refuse(compiled: CompiledPlan, why: str, rules: Iterable[str]) -> NoReturn:
    text = f"makes no legal call of {compiled.spec.file}: {why}{by_default(compiled, rules)}"
    raise FileError([Problem(compiled.plan.file, None, "axes", text)])


def _seeds(compiled: CompiledPlan, existing: CallTable, report: EnumerationReport) -> np.ndarray:
    """The values that would have made the calls that exist, -1 where a call has a value that no
    axis has.
    """
    judged = judge(compiled.spec, existing)
    report.given = int(judged.valid.sum())
    return levels_of(compiled, judged, [""] * len(existing))


def _valid_calls(
    compiled: CompiledPlan,
    tier: Tier,
    report: EnumerationReport,
    seeds: np.ndarray | None,
    random_state: int,
) -> ValidCalls:
    """The calls that a tier asks for; behind them those that show a mode; and behind these, for a
    small tier, pairwise ones to edit.
    """
    tables = compiled.constraints.tables
    report.model = Model(compiled.shape, tuple((axes, allowed) for axes, allowed, _ in tables))
    if clash := [tables[i] for i in explain(report.model, ())]:
        axes = dict.fromkeys(compiled.axes[i].name for places, _, _ in clash for i in places)
        rules = dict.fromkeys(rule for _, _, names in clash for rule in names)
        _refuse(compiled, f"all values of {', '.join(axes)} break {', '.join(rules)}", rules)
    groups = [
        ([compiled.position(axis) for axis in axes], strength) for axes, strength in tier.groups
    ]
    strength = min(tier.strength, len(compiled.axes))
    covering = np.zeros((0, len(compiled.axes)), dtype=np.int64)
    if strength:
        report.cover = cover_plan(
            compiled,
            report.model,
            strength,
            groups=groups,
            seeds=seeds,
            budget=tier.cases,
            random_state=random_state,
        )
        covering = report.cover
    few = (
        strength == 1
        or seeds is not None
        or (not strength and bool(tier.invalid or tier.limits or tier.pairs))
    )
    more = cover_plan(compiled, report.model, min(2, len(compiled.axes))) if few else covering[:0]
    showing = mode_levels(compiled, report.model, random_state) if tier.limits else covering[:0]
    levels = np.concatenate([covering, showing, more])
    builder = compiled.builder(levels)
    judged = judge(compiled.spec, builder.table())
    valid = judged.valid & representable(judged.table)
    if len(levels) and not valid.any():
        always = [
            rule.id
            for rule, broken in zip(compiled.spec.rules, judged.broken, strict=True)
            if broken.all()
        ]
        _refuse(
            compiled,
            "all break"
            f" {', '.join(always) or 'one rule or another, or need numbers of more than 64 bits'}",
            always,
        )
    kept = valid[: len(covering)]
    report.levels, report.dropped = covering[kept], int((~kept).sum())
    if strength:
        report.untried = dict(
            untried(
                compiled,
                report.model,
                report.levels if seeds is None else np.concatenate([report.levels, seeds]),
                covering[~kept],
                judged.broken[:, : len(covering)][:, ~kept],
            )
        )
    return ValidCalls(levels, builder, judged, valid, len(covering))


def _edited(
    search: EditSearch, tier: Tier, report: EnumerationReport, own: np.ndarray
) -> Iterator[_Chosen]:
    """Valid calls that others are nearest to, calls at limits, calls that break a rule, and calls
    that break two.
    """
    rules = search.spec.rules
    own_judged = search.valid.judged.take(own)
    limits: dict[int, list[Purpose]] = {}
    broken: dict[int, list[Purpose]] = {}
    singles: dict[str, list[int]] = {}
    for r, guard in search.guards:
        rule = rules[r]
        if tier.limits and guard.require.is_inequality:
            for row in violations.boundary_calls(search, rule, guard, tier.limits):
                limits.setdefault(row, []).append(Purpose("limits", (rule.id,)))
        for row in violations.list_members(search, guard, own_judged) if tier.limits else ():
            limits.setdefault(row, []).append(Purpose("lists", (rule.id,)))
        for row in violations.exempt_calls(search, r, guard) if tier.limits else ():
            limits.setdefault(row, []).append(Purpose("exempts", (rule.id,)))
        if rule.forbids:
            for row in violations.violations(search, r, guard, tier.invalid):
                others = violations.side_violations(search, row, r)
                broken.setdefault(row, []).append(Purpose("breaks", (rule.id, *others)))
                singles.setdefault(rule.id, []).append(row)
    report.unreached = {
        rule.id: unreachable(rule, search.spec)
        or "no edit of a legal call, and no edit of a broken one, breaks it"
        for rule in rules
        if rule.forbids and tier.invalid and rule.id not in singles
    }
    orders = precedence_calls(search, singles, tier.pairs) if tier.pairs else {}
    near = search.nearest(broken)
    base = search.home(own).tolist()
    recipes = search.compiled.recipes_of_edits(search.valid.levels)
    behind = len(search.valid.levels)
    borrowed = {base[row] for row in [*broken, *orders] if row not in near} - set(own.tolist())
    for_another = (Purpose("nearest_valid"),)
    for row in sorted(borrowed):
        yield _Chosen(row, "valid", for_another, recipes[row])
    valid = [(row, for_another) for row in dict.fromkeys(near.values())]
    for row, purposes in [*valid, *((row, tuple(purposes)) for row, purposes in limits.items())]:
        yield _Chosen(behind + row, "valid", purposes, recipes[base[row]])
    invalid = [(row, tuple(purposes)) for row, purposes in broken.items()]
    for row, purposes in [*invalid, *((row, (purpose,)) for row, purpose in orders.items())]:
        nearest = behind + near[row] if row in near else base[row]
        yield _Chosen(behind + row, "invalid", purposes, "", nearest)
