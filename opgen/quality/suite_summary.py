"""What a suite holds: how many cases of each operator, product and kind, and which of them break
which rule.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from opgen.calls.case_table import CaseTable
from opgen.calls.factorize import by_key
from opgen.quality.coverage import Data
from opgen.spec.rules import Rule
from opgen.suite.enumeration.reasons import FATAL
from opgen.suite.suite import Suite


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
    break two rules, ``left_out`` did not fit the ``budgets``, ``crashing`` would end the host
    process.
    """
    spec, report = suite.specs[name], suite.reports.get(name)
    cases = suite.cases.take(suite.rows_of(name))
    cases = cases.take(np.flatnonzero(cases.kind.mask(lambda kind: kind == "invalid")))
    whole = [omitted for omitted in suite.left_out if omitted.page == name]
    broken = (
        (purpose.rules[0], row)
        for row, purposes in enumerate(cases.purposes)
        for purpose in purposes
        if purpose.verb == "breaks"
    )
    rows = by_key(broken)
    rules = [_rule(rule, cases, rows.get(rule.id, [])) for rule in spec.rules if rule.forbids]
    if report is not None:
        for entry in rules:
            if not entry["invalid"]:
                why = FATAL if entry["rule"] in report.fatal else ""
                entry["why_none"] = why or report.unreached.get(entry["rule"], "")
    return {
        "rules": rules,
        "with_others": sum(bool(entry["others"]) for entry in rules),
        "unreachable": sum(not entry["invalid"] for entry in rules),
        "pairs": sum(purposes[0].verb == "orders" for purposes in cases.purposes),
        "dropped": report.dropped if report else 0,
        "left_out": len(
            {case for omitted in whole if not omitted.data_only for case in omitted.cases}
        ),
        "budgets": [
            {"key": omitted.key, "cases": list(omitted.cases), "data_only": omitted.data_only}
            for omitted in whole
        ],
        "crashing": report.crashing if report else 0,
    }


def _rule(rule: Rule, cases: CaseTable, rows: list[int]) -> Data:
    """A rule, and the cases that were made to break it, at some rows."""
    broken = [[b.rule for b in cases.page[row].breaks if b.rule != rule.id] for row in rows]
    others = min(broken, key=len, default=[])
    return {
        "rule": rule.id,
        "bucket": rule.bucket,
        "code": rule.code,
        "clause": rule.clause,
        "at": list(rule.at),
        "invalid": [cases.id[row] for row in rows],
        "nearest_valid": sorted({cases.nearest_valid[row] for row in rows} - {""}),
        "isolated": bool(rows) and not others,
        "others": others,
    }
