"""Coverage as it is asked for on a command line: of a plan, of a bundle, or of a file of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opgen.calls.jsonl import read_calls
from opgen.model import Call, FileError, Problem
from opgen.numerics.recipes import DEFAULT
from opgen.quality.coverage import Called, coverage, of_suite
from opgen.spec.catalog import Catalog, catalog
from opgen.suite.selection import Request, plans_of
from opgen.suite.suite import Each


def measured(
    operators: Sequence[str], plan: str, bundle: str = "", calls: str = "", each: Each = map
) -> dict[str, Any]:
    """The report of :func:`opgen.quality.coverage.coverage`; without a bundle or a file, of the
    suite that the plan makes, ``each`` page by page.
    """
    known = catalog()
    if not bundle and not calls:
        request = Request(operators=operators, plan=plan)
        found, tier = request.pages()
        suite = request.suite(each)
        return coverage(
            of_suite(suite), {spec.api: one for spec, one in found}, tier, suite.reports
        )
    apis = {known.api(name) for name in operators}
    made = (
        _of_bundle(bundle, known)
        if bundle
        else [(one.call, DEFAULT) for one in read_calls(calls, known.kinds)]
    )
    pages: dict[str, Called] = {}
    for spec in known.specs:
        mine = [
            (c, r)
            for c, r in made
            if c.api == spec.api and c.product in spec.judges and (not apis or c.api in apis)
        ]
        if mine:
            pages[spec.name] = Called(spec, [c for c, _ in mine], [r for _, r in mine])
    if not pages:
        raise FileError([Problem(bundle or calls, None, "", "holds no call of what was asked for")])
    counted = {page.spec.api for page in pages.values()}
    plans, tier = plans_of(plan, counted)
    if others := counted - plans.keys():
        raise FileError(
            [
                Problem(
                    "--plan",
                    None,
                    plan,
                    f"is no plan of {', '.join(sorted(others))}; name the operator to count",
                )
            ]
        )
    return coverage(pages.values(), plans, tier)


def _of_bundle(path: str, known: Catalog) -> list[tuple[Call, str]]:
    import opgen

    with opgen.open(path) as bundle:
        return [(case.asked, case.recipe) for case in bundle]
