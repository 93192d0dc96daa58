"""Coverage as it is asked for on a command line: of a plan, of a bundle, or of a file of calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opgen.bundle.read.readback import case_table, kinds_of
from opgen.calls.jsonl import read_calls
from opgen.calls.table import from_calls
from opgen.model import Call, FileError
from opgen.numerics.recipes import DEFAULT
from opgen.quality.coverage import Data, PageCalls, coverage, of_cases
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.selection import Request, plans_of
from opgen.suite.suite import Suite


def of_suite(request: Request, suite: Suite) -> Data:
    """The report of :func:`opgen.quality.coverage.coverage` of the suite of a request."""
    plans = {suite.specs[name].api: plan for name, plan in suite.plans.items()}
    _, tier = request.pages()
    return coverage(of_cases(suite.cases, suite.specs.values()), plans, tier, suite.reports)


def of_file(operators: Sequence[str], plan: str, bundle: str = "", calls: str = "") -> Data:
    """The report of :func:`opgen.quality.coverage.coverage` of a bundle, or of a file of calls."""
    apis = {catalog().api(name) for name in operators} or set(catalog().kinds)
    specs = [spec for spec in catalog().specs if spec.api in apis]
    pages = _of_bundle(bundle, specs) if bundle else _of_calls(calls, specs)
    if not pages:
        raise FileError.of(bundle or calls, "", "holds no call of the operators asked for")
    counted = {page.spec.api for page in pages}
    plans, tier = plans_of(plan, counted)
    if others := counted - plans.keys():
        text = f"is no plan of {', '.join(sorted(others))}; name the operator to count"
        raise FileError.of("`plan`", plan, text)
    return coverage(pages, plans, tier)


def _of_bundle(path: str, specs: Iterable[Spec]) -> list[PageCalls]:
    import opgen

    with opgen.open(path) as bundle:
        return of_cases(case_table(bundle, kinds_of(bundle) | catalog().kinds), specs)


def _of_calls(path: str, specs: Iterable[Spec]) -> list[PageCalls]:
    calls: dict[str, list[Call]] = {}
    for named in read_calls(path, catalog().kinds):
        page = catalog().by_page[named.call.api, named.call.product]
        calls.setdefault(page.name, []).append(named.call)
    return [
        PageCalls(spec, from_calls(spec.api, spec.kinds, mine), [DEFAULT] * len(mine))
        for spec in specs
        if (mine := calls.get(spec.name))
    ]
