"""What a set of calls covers: of every page the sides of every rule, of every plan the values of
its axes and their tuples.

Tuples are counted by :func:`opgen.suite.covering.count`, which shares no code with what makes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgen.calls.table import from_calls
from opgen.model import Call
from opgen.oracle.judgement import Judgement, judge
from opgen.quality import sides
from opgen.spec.spec import Spec
from opgen.suite.covering import Model, count, explain
from opgen.suite.covering.model import Tuple
from opgen.suite.enumeration.enumerator import Report
from opgen.suite.enumeration.levels import levels_of
from opgen.suite.enumeration.reasons import unreachable
from opgen.suite.planning.choices import Choices
from opgen.suite.planning.plan import Plan
from opgen.suite.suite import Suite

STRENGTHS = (1, 2, 3)
MOST_NAMED = 20
"""Missing tuples that are named; there may be thousands."""


@dataclass(frozen=True)
class Called:
    """The calls of one page, and what each was drawn with (empty where nothing was)."""

    spec: Spec
    calls: Sequence[Call]
    recipes: Sequence[str]


def of_suite(suite: Suite) -> list[Called]:
    """The calls of a suite, page by page."""
    found = []
    for spec in suite.specs.values():
        cases = [
            case
            for case in suite.cases
            if case.call.api == spec.api and case.call.product in spec.judges
        ]
        found.append(Called(spec, [case.call for case in cases], [case.recipe for case in cases]))
    return found


def coverage(
    called: Iterable[Called],
    plans: Mapping[str, Plan],
    tier: str,
    reports: Mapping[str, Report] | None = None,
) -> dict[str, Any]:
    """Everything as plain data. ``plans``: api -> plan whose axes are asked about; ``reports`` of a
    suite that was enumerated from them say which values its calls were made from.
    """
    pages = [
        _page(one, plans[one.spec.api], tier, (reports or {}).get(one.spec.name)) for one in called
    ]
    tested = sum(page["sides"]["tested"] for page in pages)
    could = sum(page["sides"]["testable"] for page in pages)
    counted = [tuples for page in pages for tuples in page["tuples"]]
    asked = max((page["strength"] for page in pages), default=1)
    rates = {}
    for t in STRENGTHS:
        mine = [tuples for tuples in counted if tuples["t"] == t]
        rates[str(t)] = _percent(sum(x["covered"] for x in mine), sum(x["feasible"] for x in mine))
    lowest = min([_percent(tested, could), *(rates[str(t)] for t in STRENGTHS if t <= asked)])
    return {
        "tier": tier,
        "sides": _percent(tested, could),
        "tuples": rates,
        "strength": asked,
        "lowest": lowest,
        "pages": pages,
    }


def _percent(part: int, whole: int) -> float:
    return 100.0 if not whole else int(10000 * part / whole) / 100


def _page(one: Called, plan: Plan, tier: str, report: Report | None) -> dict[str, Any]:
    spec = one.spec
    judged = judge(spec, from_calls(spec.api, spec.kinds, one.calls))
    rules = [_rule(judged, i) for i in range(len(spec.rules))]
    found = [side for rule in rules for side in rule["sides"]]
    tested, could = sum(r["tested"] for r in rules), sum(r["testable"] for r in rules)
    axes = _axes(Choices(spec, plan, tier), judged, one.recipes, report)
    return {
        "page": spec.name,
        "file": spec.page.file if spec.page else spec.file,
        "calls": len(one.calls),
        "valid": int(judged.valid.sum()),
        "sides": {"tested": tested, "testable": could, "all": len(found)},
        "clauses": _clauses(spec, rules),
        "rules": rules,
        "strength": max(plan.tiers[tier].strength, 1),
        **axes,
    }


def _rule(judged: Judgement, i: int) -> dict[str, Any]:
    spec, rule, broken = judged.spec, judged.spec.rules[i], judged.broken[i]
    found = list(sides.sides(rule, judged, unreachable(rule, spec)))
    tested, could = sides.count(found)
    codes = sorted(
        {str(code) for row in np.flatnonzero(broken)[:200] for code in judged.codes(int(row))}
    )
    return {
        "rule": rule.id,
        "bucket": rule.bucket,
        "code": rule.code,
        "clause": rule.clause,
        "at": list(rule.at),
        "valid": int((rule.applies(judged.view, len(judged.table)) & judged.valid).sum()),
        "invalid": int(broken.sum()),
        "alone": int((broken & (judged.broken.sum(axis=0) == 1)).sum()),
        "codes": codes,
        "tested": tested,
        "testable": could,
        "sides": [vars(side) for side in found],
    }


def _clauses(spec: Spec, rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every numbered clause of the page's return codes, and the calls that break one of its
    rules.
    """
    result = []
    for clause, line in spec.clauses.items():
        mine = [rule for rule in rules if rule["clause"] == clause]
        reached = [rule for rule in mine if rule["invalid"]]
        invalid = sum(rule["invalid"] for rule in reached)
        result.append(
            {
                "clause": clause,
                "at": line,
                "rules": len(mine),
                "broken": len(reached),
                "invalid": invalid,
            }
        )
    return result


def _axes(
    choices: Choices, judged: Judgement, recipes: Sequence[str], report: Report | None
) -> dict[str, Any]:
    tables = choices.constraints.tables
    model = Model(choices.shape, tuple((axes, allowed) for axes, allowed, _ in tables))
    rows = report.levels if report is not None else levels_of(choices, judged, list(recipes))
    tuples = []
    impossible: list[Tuple] = []
    axes: list[dict[str, Any]] = [
        {"axis": axis.name, "values": len(choices.levels[i]), "why": axis.why}
        for i, axis in enumerate(choices.axes)
    ]
    for t in STRENGTHS:
        tally = count(model, rows, t, listed=True)[0]
        covered, feasible, infeasible = tally.totals()
        missing = [_named(choices, one) for one in (tally.missing or [])[:MOST_NAMED]]
        tuples.append(
            {
                "t": t,
                "covered": covered,
                "feasible": feasible,
                "infeasible": infeasible,
                "missing": missing,
            }
        )
        impossible = (tally.impossible or [])[:MOST_NAMED] if t == 2 else impossible
        for i, axis in enumerate(axes):
            axis[str(t)] = dict(
                zip(("covered", "feasible", "infeasible"), tally.of_factor(i), strict=True)
            )
    by = [
        sorted({rule for i in explain(model, one) for rule in tables[i][2]}) for one in impossible
    ]
    infeasible_pairs = [
        {"values": _named(choices, one), "by": rules}
        for one, rules in zip(impossible, by, strict=True)
    ]
    return {"tuples": tuples, "axes": axes, "infeasible": infeasible_pairs}


def _named(choices: Choices, values: Tuple) -> dict[str, str]:
    return {choices.axes[axis].name: choices.shown(axis, level) for axis, level in values}
