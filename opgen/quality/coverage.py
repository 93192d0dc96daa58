"""What a set of calls covers: of every page the boundaries of every rule, of every plan the values
of its axes and their tuples.

Tuples are counted by :func:`opgen.suite.covering.count`, which shares no code with what makes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from opgen.calls.case_table import CaseTable
from opgen.calls.table import CallTable, concatenate
from opgen.calls.vocabulary import vocabulary
from opgen.oracle.judgement import Judgement, judge
from opgen.quality.boundaries import UNTESTED, boundaries, count
from opgen.spec.sizes import shipped_sizes
from opgen.spec.spec import ENDS, TOTAL, Spec
from opgen.suite import covering
from opgen.suite.covering.model import Tuple
from opgen.suite.enumeration.enumeration_report import EnumerationReport
from opgen.suite.enumeration.levels import levels_of
from opgen.suite.enumeration.reasons import FATAL, accompanied, unreachable
from opgen.suite.enumeration.routes import RoutedCalls
from opgen.suite.enumeration.size_calls import sizes_of
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.plan import Plan

STRENGTHS = (1, 2, 3)
MOST_NAMED = 20
"""Missing tuples that are named; there may be thousands."""
SAVED = "the forward saves these elements, and no call gives them a range"
"""Why no call stands at the limit of a rule about elements that a kernel computes."""
Data: TypeAlias = dict[str, Any]
"""Plain data, as JSON has it."""


@dataclass(frozen=True)
class PageCalls:
    """The calls of one page, and what each was drawn with (empty where nothing was)."""

    spec: Spec
    table: CallTable
    recipes: Sequence[str]


def of_cases(cases: CaseTable, specs: Iterable[Spec]) -> list[PageCalls]:
    """The calls of some cases, by the pages that judge them."""
    rows_of = ((spec, cases.rows_of(spec.api, spec.judges)) for spec in specs)
    return [
        PageCalls(spec, cases.calls_of(rows), list(cases.recipe.take(rows)))
        for spec, rows in rows_of
        if len(rows)
    ]


def coverage(
    pages: Iterable[PageCalls],
    plans: Mapping[str, Plan],
    tier: str,
    reports: Mapping[str, EnumerationReport] | None = None,
    routes: Mapping[str, RoutedCalls] | None = None,
) -> Data:
    """Everything as plain data. ``plans``: api -> plan whose axes are asked about; ``reports`` of a
    suite that was enumerated from them say which values its calls were made from; ``routes``: page
    -> calls whose routes are asked about.
    """
    reports = reports or {}
    counted = [
        _page(calls, plans[calls.spec.api], tier, reports.get(calls.spec.name))
        | ({} if routes is None else {"routes": _routes(calls.table, routes[calls.spec.name])})
        for calls in pages
    ]
    tested = _rate([page["boundaries"] for page in counted], "tested", "testable")
    strength = max((page["strength"] for page in counted), default=1)
    rates = {
        t: _rate([page["tuples"][t - 1] for page in counted], "covered", "feasible")
        for t in STRENGTHS
    }
    return {
        "tier": tier,
        "boundaries": tested,
        "tuples": {str(t): rate for t, rate in rates.items()},
        "strength": strength,
        "lowest": min(tested, *(rates[t] for t in STRENGTHS if t <= strength)),
        "pages": counted,
    }


def _rate(counts: Sequence[Mapping[str, int]], part: str, whole: str) -> float:
    """Per cent, cut off after two digits."""
    total = sum(count[whole] for count in counts)
    return int(10000 * sum(count[part] for count in counts) / total) / 100 if total else 100.0


def _page(calls: PageCalls, plan: Plan, tier: str, report: EnumerationReport | None) -> Data:
    spec, judged = calls.spec, judge(calls.spec, calls.table)
    fatal = report.fatal if report else ()
    rules = [_rule(judged, i, plan, fatal) for i in range(len(spec.rules))]
    return {
        "page": spec.name,
        "file": spec.page.file if spec.page else spec.file,
        "calls": len(calls.table),
        "valid": int(judged.valid.sum()),
        "boundaries": {
            "tested": sum(rule["tested"] for rule in rules),
            "testable": sum(rule["testable"] for rule in rules),
            "all": sum(len(rule["boundaries"]) for rule in rules),
        },
        "sizes": _sizes(judged),
        "clauses": [_clause(clause, line, rules, judged) for clause, line in spec.clauses.items()],
        "rules": rules,
        "strength": max(plan.tiers[tier].strength, 1),
        **_axes(CompiledPlan(spec, plan, tier), judged, calls.recipes, report),
    }


def _sizes(judged: Judgement) -> Data:
    """How many of the sizes that matter some legal call has, and the others in words."""
    sizes = list(sizes_of(judged.spec, shipped_sizes()))
    missing = [size.note for size in sizes if not size.stands(judged).any()]
    return {"reached": len(sizes) - len(missing), "all": len(sizes), "missing": missing}


def _routes(table: CallTable, known: RoutedCalls) -> Data:
    """How many routes have a call that is equal to one of those known to take it, the others
    in words, and a line of a call file for each.
    """
    both, products = concatenate([table, known.judged.table]), vocabulary().names["product"]
    number = both.alike()[0] * len(products) + both.product
    there = np.isin(number[len(table) :], number[: len(table)])
    groups = known.groups().items()
    missing = [
        f"{products[product]}: {route or 'no kernel'} ({known.ids[rows[0]]})"
        for (product, route), rows in groups
        if not there[rows].any()
    ]
    return {
        "reached": len(groups) - len(missing),
        "all": len(groups),
        "missing": missing,
        "witnesses": list(known.witnesses()),
    }


def _rule(judged: Judgement, i: int, plan: Plan, fatal: Collection[str]) -> Data:
    spec, rule, broken = judged.spec, judged.spec.rules[i], judged.broken[i]
    saved = any(
        what in (*ENDS, TOTAL) and plan.role(spec.parameters[name]) == "saved"
        for name, what in rule.refs
        if name in spec.parameters
    )
    why_none = (SAVED if saved else "") or (FATAL if rule.id in fatal else "")
    of_rule = list(boundaries(rule, judged, unreachable(rule, spec) or why_none))
    tested, testable = count(of_rule)
    codes = {str(code) for row in np.flatnonzero(broken)[:200] for code in judged.codes(int(row))}
    return {
        "rule": rule.id,
        "bucket": rule.bucket,
        "code": rule.code,
        "clause": rule.clause,
        "at": list(rule.at),
        "valid": int((rule.applies(judged.view, len(judged.table)) & judged.valid).sum()),
        "invalid": int(broken.sum()),
        "isolated": int((broken & (judged.broken.sum(axis=0) == 1)).sum()),
        "codes": sorted(codes),
        "tested": tested,
        "testable": testable,
        "boundaries": [vars(boundary) for boundary in of_rule],
    }


def _clause(clause: str, line: int, rules: Sequence[Data], judged: Judgement) -> Data:
    """A numbered clause of the page's return codes, and the calls that break one of its rules;
    ``exact`` are those that admit its code and no other, and ``why_none`` says why there are none.
    """
    spec = judged.spec
    mine = [rule for rule in rules if rule["clause"] == clause]
    of_clause = np.array([rule.clause == clause for rule in spec.rules])
    code = int(clause.partition(".")[0])
    bit = 1 << spec.codes.index(code) if code in spec.codes else 0
    exact = judged.broken[of_clause].any(axis=0) & (judged.admissible == bit)
    proofs = [
        unreachable(rule, spec) or accompanied(rule, spec) or UNTESTED
        for rule in spec.rules
        if rule.clause == clause and not exact.any()
    ]
    return {
        "exact": int(exact.sum()),
        "why_none": "; ".join(dict.fromkeys(proofs)) if mine else "no rule: it names no parameter",
        "clause": clause,
        "at": line,
        "rules": len(mine),
        "broken": sum(rule["invalid"] > 0 for rule in mine),
        "invalid": sum(rule["invalid"] for rule in mine),
    }


def _axes(
    compiled: CompiledPlan,
    judged: Judgement,
    recipes: Sequence[str],
    report: EnumerationReport | None,
) -> Data:
    tables = compiled.constraints.tables
    model = covering.Model(compiled.shape, tuple((axes, allowed) for axes, allowed, _ in tables))
    rows = report.levels if report is not None else levels_of(compiled, judged, list(recipes))
    keys = ("covered", "feasible", "infeasible")
    tuples, impossible = [], []
    axes: list[Data] = [
        {"axis": axis.name, "values": len(compiled.values[i]), "why": axis.why}
        for i, axis in enumerate(compiled.axes)
    ]
    for t in STRENGTHS:
        (tally,) = covering.count(model, rows, t)
        missing = [_named(compiled, values) for values in tally.missing[:MOST_NAMED]]
        totals = dict(zip(keys, tally.totals(), strict=True))
        tuples.append({"t": t, **totals, "missing": missing})
        for i, axis in enumerate(axes):
            axis[str(t)] = dict(zip(keys, tally.of_factor(i), strict=True))
        if t == 2:
            impossible = tally.impossible[:MOST_NAMED]
    infeasible = [
        {
            "values": _named(compiled, values),
            "by": sorted({rule for i in covering.explain(model, values) for rule in tables[i][2]}),
        }
        for values in impossible
    ]
    return {"tuples": tuples, "axes": axes, "infeasible": infeasible}


def _named(compiled: CompiledPlan, values: Tuple) -> dict[str, str]:
    return {compiled.axes[axis].name: compiled.shown(axis, level) for axis, level in values}
