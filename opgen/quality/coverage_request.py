"""Coverage as it is asked for on a command line: of a plan, of a bundle, or of a file of calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opgen.bundle.read.reader import Bundle
from opgen.calls.categorical import Categorical
from opgen.calls.factorize import by_key
from opgen.calls.jsonl import read_calls
from opgen.calls.table import from_calls
from opgen.comparison.calls_by_page import calls_by_page
from opgen.model import FileError, Problem
from opgen.numerics.recipes import DEFAULT
from opgen.quality.coverage import Data, PageCalls, coverage, of_cases
from opgen.spec.catalog import Catalog, catalog, edition_of
from opgen.spec.spec import Spec
from opgen.suite.enumeration.routes import RoutedCalls, read_routes
from opgen.suite.planning.plan_check import plans_of
from opgen.suite.selection import Request
from opgen.suite.suite import Suite


def of_suite(
    request: Request, suite: Suite, routes: str = "", skipped: list[Problem] | None = None
) -> Data:
    """The report of :func:`opgen.quality.coverage.coverage` of the suite of a request; of the calls
    in a file of ``routes``, ``skipped`` takes the bad lines.
    """
    plans = {suite.specs[name].api: plan for name, plan in suite.plans.items()}
    _, tier = request.pages()
    pages = of_cases(suite.cases, suite.specs.values())
    return coverage(pages, plans, tier, suite.reports, _known(routes, pages, skipped))


def of_file(
    operators: Sequence[str],
    plan: str,
    bundle: str = "",
    calls: str = "",
    edition: str = "",
    routes: str = "",
    skipped: list[Problem] | None = None,
) -> Data:
    """The report of :func:`opgen.quality.coverage.coverage` of a bundle, or of a file of calls,
    by the pages of an ``edition``; a bundle says itself which it was made of. ``routes`` as above.
    """
    known = catalog(_edition_of(bundle) if bundle else edition)
    specs = known.pages({known.api(name) for name in operators} or set(known.kinds))
    pages = _of_bundle(bundle, specs) if bundle else _of_calls(calls, specs, known)
    if not pages:
        raise FileError.of(bundle or calls, "", "holds no call of the operators asked for")
    counted = {page.spec.api for page in pages}
    plans, tier = plans_of(plan, counted, _edition_of(bundle) if bundle else edition)
    if others := counted - plans.keys():
        raise FileError.of(
            "`plan`", plan, f"is no plan of {', '.join(sorted(others))}; name the operator to count"
        )
    return coverage(pages, plans, tier, routes=_known(routes, pages, skipped))


def _known(
    routes: str, pages: Iterable[PageCalls], skipped: list[Problem] | None
) -> Mapping[str, RoutedCalls] | None:
    """Page -> the calls of a file of routes, where one is given; FileError where it has none."""
    if not routes:
        return None
    known = read_routes(routes, [page.spec for page in pages], skipped)
    if not any(calls.ids for calls in known.values()):
        text = "holds no legal call of these operators whose key 'kernels' lists what ran"
        raise FileError.of("`routes`", routes, text)
    return known


def _edition_of(bundle: str) -> str:
    with Bundle(bundle) as held:
        return edition_of(held.header)


def _of_bundle(path: str, specs: Iterable[Spec]) -> list[PageCalls]:
    with Bundle(path) as bundle:
        recipes = Categorical.coded(bundle.strings, bundle.tables["cases"]["recipe"])
        return [
            PageCalls(spec, table, list(recipes.take(rows)))
            for spec, rows, table in calls_by_page(bundle, range(len(bundle)))
            if spec in specs
        ]


def _of_calls(path: str, specs: Iterable[Spec], known: Catalog) -> list[PageCalls]:
    read = [named.call for named in read_calls(path, known.kinds)]
    calls = by_key((known.by_page[call.api, call.product].name, call) for call in read)
    return [
        PageCalls(spec, from_calls(spec.api, spec.kinds, mine), [DEFAULT] * len(mine))
        for spec in specs
        if (mine := calls.get(spec.name))
    ]
