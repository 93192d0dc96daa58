"""Counting a suite: what there is of each operator, product and kind, and which cases break which
rule.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from opgen.generation.engine import layout
from opgen.suite.suite import Suite


def census(suite: Suite) -> dict[str, Any]:
    """Counts of a suite as plain data.

    ``rules`` has an entry per page and rule that forbids something: its code and clause, its
    invalid cases, whether one breaks it alone, the smallest company otherwise, and why there is
    none where there is none.
    """
    by: Counter[tuple[str, str, str]] = Counter(
        (case.call.api, case.call.product, case.kind) for case in suite.cases
    )
    planned = layout(suite)
    return {
        "cases": len(suite.cases),
        "bytes": planned.bytes,
        "with_data": sum(case.phase == 2 for case in suite.cases),
        "inconclusive": sum(bool(case.inconclusive) for case in suite.cases),
        "why_inconclusive": dict(
            Counter(case.inconclusive for case in suite.cases if case.inconclusive)
        ),
        "counts": [
            {"op": op, "product": product, "kind": kind, "cases": n}
            for (op, product, kind), n in sorted(by.items())
        ],
        "pages": {name: page(suite, name) for name in suite.specs},
        "ids": [case.id for case in suite.cases],
    }


def page(suite: Suite, name: str) -> dict[str, Any]:
    """The rules of one page of a suite, and how far the suite breaks them; ``pairs`` are calls that
    break two rules, ``left_out`` did not fit the budget, ``crashing`` would end the host
    process.
    """
    spec, report = suite.specs[name], suite.reports.get(name)
    broken: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {}
    pairs = 0
    for case, aims in zip(suite.cases, suite.aims, strict=True):
        if (
            case.kind == "invalid"
            and case.call.api == spec.api
            and case.call.product in spec.judges
        ):
            pairs += aims[0].verb == "orders"
            rules_broken = tuple(b.rule for b in case.page.breaks)
            for aimed in [aim.rules[0] for aim in aims if aim.verb == "breaks"]:
                broken.setdefault(aimed, []).append(
                    (case.id, case.nearest_valid, tuple(r for r in rules_broken if r != aimed))
                )
    entries: list[dict[str, Any]] = []
    for rule in spec.rules:
        if not rule.forbids:
            continue
        cases = broken.get(rule.id, [])
        company = min((others for _, _, others in cases), key=len, default=())
        entry: dict[str, Any] = {
            "rule": rule.id,
            "bucket": rule.bucket,
            "code": rule.code,
            "clause": rule.clause,
            "at": list(rule.at),
            "invalid": [case for case, _, _ in cases],
            "nearest_valid": sorted({nearest for _, nearest, _ in cases if nearest}),
            "alone": bool(cases) and not company,
            "company": list(company),
        }
        if not cases and report is not None:
            entry["why_none"] = report.unreached.get(rule.id, "")
        entries.append(entry)
    return {
        "rules": entries,
        "not_alone": sum(bool(r["invalid"]) and not r["alone"] for r in entries),
        "unreached": sum(not r["invalid"] for r in entries),
        "pairs": pairs,
        "dropped": report.dropped if report else 0,
        "left_out": report.left_out if report else 0,
        "crashing": report.crashing if report else 0,
    }
