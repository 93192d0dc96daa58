"""What a suite holds: how many cases of each operator, product and kind, and which of them break
which rule.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from opgen.generation.engine import layout
from opgen.quality.coverage import Data
from opgen.spec.rules import Rule
from opgen.suite.suite import Suite


class _Violation(NamedTuple):
    """A case made to break a rule: its nearest valid case, and the rules that it breaks besides."""

    case: str
    nearest_valid: str
    others: list[str]


def summarize(suite: Suite) -> Data:
    """Counts of a suite as plain data.

    ``rules`` has an entry per page and rule that forbids something: its code and clause, its
    invalid cases, whether one breaks it isolated, else the fewest others that are broken with it,
    and why there is no case where there is none.
    """
    cases = suite.cases
    inconclusive = Counter(filter(None, cases.inconclusive))
    return {
        "cases": len(cases),
        "bytes": layout(suite).bytes,
        "with_data": int((cases.phase == 2).sum()),
        "inconclusive": inconclusive.total(),
        "why_inconclusive": dict(inconclusive),
        "counts": counts(suite),
        "pages": {name: _page(suite, name) for name in suite.specs},
        "ids": list(cases.id),
    }


def counts(suite: Suite) -> list[Data]:
    """The number of cases of each operator, product and kind."""
    kinds = zip(suite.cases.api, suite.cases.product, suite.cases.kind, strict=True)
    return [
        {"op": op, "product": product, "kind": kind, "cases": n}
        for (op, product, kind), n in sorted(Counter(kinds).items())
    ]


def _page(suite: Suite, name: str) -> Data:
    """The rules of one page of a suite, and how far the suite breaks them; ``pairs`` are calls that
    break two rules, ``left_out`` did not fit the budget, ``crashing`` would end the host
    process.
    """
    spec, report = suite.specs[name], suite.reports.get(name)
    violations: dict[str, list[_Violation]] = {rule.id: [] for rule in spec.rules}
    pairs = 0
    cases = suite.cases.take(suite.rows_of(name))
    cases = cases.take(np.flatnonzero(cases.kind.mask(lambda kind: kind == "invalid")))
    for case, purposes, page, nearest in zip(
        cases.id, cases.purposes, cases.page, cases.nearest_valid, strict=True
    ):
        pairs += purposes[0].verb == "orders"
        broken = [broken.rule for broken in page.breaks]
        for rule in [purpose.rules[0] for purpose in purposes if purpose.verb == "breaks"]:
            others = [other for other in broken if other != rule]
            violations[rule].append(_Violation(case, nearest, others))
    rules = [_rule(rule, violations[rule.id]) for rule in spec.rules if rule.forbids]
    if report is not None:
        for entry in rules:
            if not entry["invalid"]:
                entry["why_none"] = report.unreached.get(entry["rule"], "")
    return {
        "rules": rules,
        "with_others": sum(bool(entry["others"]) for entry in rules),
        "unreachable": sum(not entry["invalid"] for entry in rules),
        "pairs": pairs,
        "dropped": report.dropped if report else 0,
        "left_out": report.left_out if report else 0,
        "crashing": report.crashing if report else 0,
    }


def _rule(rule: Rule, violations: list[_Violation]) -> Data:
    others = min((violation.others for violation in violations), key=len, default=[])
    return {
        "rule": rule.id,
        "bucket": rule.bucket,
        "code": rule.code,
        "clause": rule.clause,
        "at": list(rule.at),
        "invalid": [violation.case for violation in violations],
        "nearest_valid": sorted({v.nearest_valid for v in violations if v.nearest_valid}),
        "isolated": bool(violations) and not others,
        "others": others,
    }
