"""Coverage as it is asked for on a command line: of a plan, of a bundle, or of a file of calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opgen.adequacy.coverage import Called, coverage, of_suite
from opgen.calls.jsonl import make_call, read_calls
from opgen.model import Call, FileError, Problem
from opgen.page.book import Book, book
from opgen.planning.plan import TIERS, Plan, load_plan, plan_for
from opgen.suites.selection import Request


def measured(operators: Sequence[str], plan: str, bundle: str = "", calls: str = "") -> dict[str, Any]:
    """The report of :func:`opgen.adequacy.coverage.coverage`; without a bundle or a file, of the suite that the plan makes."""
    known = book()
    if not bundle and not calls:
        suite = Request(operators=operators, plan=plan).suite()
        tier = plan if plan in TIERS else plan.partition("::")[2] or next(iter(next(iter(suite.plans.values())).tiers))
        return coverage(of_suite(suite), {one.op: one for one in suite.plans.values()}, tier, suite.reports)
    apis = {known.api(name) for name in operators}
    made = _of_bundle(bundle, known) if bundle else [(one.call, "grid") for one in read_calls(calls, known.kinds)]
    pages: dict[str, Called] = {}
    for spec in known.specs:
        mine = [(c, r) for c, r in made if c.api == spec.api and c.product in spec.judges and (not apis or c.api in apis)]
        if mine:
            pages[spec.name] = Called(spec, [c for c, _ in mine], [r for _, r in mine])
    if not pages:
        raise FileError([Problem(bundle or calls, None, "", "holds no call of what was asked for")])
    plans, tier = _plans({page.spec.api: page.spec.op for page in pages.values()}, known, plan)
    return coverage(pages.values(), plans, tier)


def _of_bundle(path: str, known: Book) -> list[tuple[Call, str]]:
    import opgen

    with opgen.open(path) as bundle:
        return [(make_call(case.call["op"], case.call["product"], case.call["args"], known.kinds), case.recipe) for case in bundle]


def _plans(operators: dict[str, str], known: Book, plan: str) -> tuple[dict[str, Plan], str]:
    """Api -> plan for the operators (api -> name) whose calls are counted, and the tier."""
    if plan in TIERS:
        return {api: plan_for(op) for api, op in operators.items()}, plan
    path, _, tier = plan.partition("::")
    if not Path(path).exists():
        raise FileError([Problem("--plan", None, plan, f"no such tier or file; tiers are {', '.join(TIERS)}, or FILE::TIER")])
    loaded = load_plan(Path(path))
    others = set(operators) - {known.api(loaded.op)}
    if others:
        raise FileError([Problem(path, None, loaded.op, f"is no plan of {', '.join(sorted(others))}; name the operator to count")])
    return dict.fromkeys(operators, loaded), tier or next(iter(loaded.tiers))
