"""spec + plan + tier -> the calls of a suite: valid ones, ones at each limit, ones that break a
rule, ones that break two.

The oracle labels everything; what it does not confirm is dropped and counted. The order is fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from opgen.calls.categorical import Categorical
from opgen.calls.purposes import Purpose, Purposes
from opgen.calls.table import found_in, from_calls
from opgen.model import Call, Kind
from opgen.oracle.judgement import Judgement
from opgen.spec.sizes import shipped_sizes
from opgen.spec.spec import Spec
from opgen.suite.enumeration import violations
from opgen.suite.enumeration.covering_calls import seeds_of, valid_calls
from opgen.suite.enumeration.edit_search import EditSearch
from opgen.suite.enumeration.enumeration_report import EnumerationReport
from opgen.suite.enumeration.error_precedence import precedence_calls
from opgen.suite.enumeration.modes import mode_calls
from opgen.suite.enumeration.reasons import unreachable
from opgen.suite.enumeration.size_calls import size_calls
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.plan import Plan
from opgen.suite.planning.tier_form import Tier

RANDOM_STATE = 7
"""What ties between rows are broken by."""
SIZED = 2
"""The strength of a tier from which on it has calls of the sizes that matter."""
_COVERED = {1: "value", 2: "pair", 3: "triple"}


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
    seeds = seeds_of(compiled, existing, report) if mine else None
    drafted = valid_calls(compiled, tier, report, seeds, random_state)
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
