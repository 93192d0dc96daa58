"""Cases of a suite chosen by a condition in the language of specs, before they have data."""

from __future__ import annotations

from collections.abc import Iterator

from opgen.model import FileError
from opgen.spec.conditions import CasesOfPage, chosen
from opgen.suite.suite import Suite


def where(suite: Suite, text: str) -> Suite:
    """The cases for which a condition is true. Beside the names of
    :func:`opgen.spec.conditions.chosen` it may ask for ``kind``, ``recipe``, ``bucket`` and
    ``rule``, the first rule that the call breaks. FileError where there is none.
    """
    rows = chosen(_pages(suite), text)
    if not rows:
        raise FileError.of("--where", "", f"no case has {text}")
    return suite.subset(rows)


def _pages(suite: Suite) -> Iterator[CasesOfPage]:
    for spec in suite.specs.values():
        rows = suite.rows_of(spec.name)
        if len(rows):
            cases = suite.cases.take(rows)
            texts: dict[str, list[str]] = {
                "kind": list(cases.kind),
                "recipe": list(cases.recipe),
                "bucket": list(cases.page.map(lambda page: page.bucket)),
                "rule": list(cases.page.map(lambda page: next((b.rule for b in page.breaks), ""))),
            }
            yield CasesOfPage(spec, rows, suite.cases.calls_of(rows), texts)
