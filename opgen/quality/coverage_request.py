"""Coverage as it is asked for on a command line: of a plan, of a bundle, or of a file of calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from opgen.calls.jsonl import read_calls
from opgen.calls.table import from_calls
from opgen.model import Call, FileError
from opgen.numerics.recipes import DEFAULT
from opgen.quality.coverage import Data, PageCalls, coverage, of_suite
from opgen.spec.catalog import catalog
from opgen.suite.selection import Request, plans_of
from opgen.suite.suite import Each


def measured(
    operators: Sequence[str], plan: str, bundle: str = "", calls: str = "", each: Each = map
) -> Data:
    """The report of :func:`opgen.quality.coverage.coverage`; without a bundle or a file, of the
    suite that the plan makes, ``each`` page by page.
    """
    if not bundle and not calls:
        request = Request(operators=operators, plan=plan)
        asked, tier = request.pages()
        suite = request.suite(each)
        return coverage(
            of_suite(suite), {spec.api: plan for spec, plan in asked}, tier, suite.reports
        )
    apis = {catalog().api(name) for name in operators} or set(catalog().kinds)
    drawn = _of_bundle(bundle) if bundle else _of_file(calls)
    pages = by_page([(call, recipe) for call, recipe in drawn if call.api in apis])
    if not pages:
        raise FileError.of(bundle or calls, "", "holds no call of what was asked for")
    counted = {page.spec.api for page in pages}
    plans, tier = plans_of(plan, counted)
    if others := counted - plans.keys():
        text = f"is no plan of {', '.join(sorted(others))}; name the operator to count"
        raise FileError.of("`plan`", plan, text)
    return coverage(pages, plans, tier)


def by_page(drawn: Collection[tuple[Call, str]]) -> list[PageCalls]:
    """Calls and their recipes by the pages that judge them."""
    pages = []
    for spec in catalog().specs:
        mine = [
            (call, recipe)
            for call, recipe in drawn
            if call.api == spec.api and call.product in spec.judges
        ]
        if mine:
            calls, recipes = zip(*mine, strict=True)
            pages.append(PageCalls(spec, from_calls(spec.api, spec.kinds, calls), recipes))
    return pages


def _of_file(path: str) -> list[tuple[Call, str]]:
    return [(named.call, DEFAULT) for named in read_calls(path, catalog().kinds)]


def _of_bundle(path: str) -> list[tuple[Call, str]]:
    import opgen

    with opgen.open(path) as bundle:
        return [(case.asked, case.recipe) for case in bundle]
