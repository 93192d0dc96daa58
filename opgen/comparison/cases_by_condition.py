"""Cases of a bundle chosen by a condition in the language of specs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opgen.bundle.read.reader import Bundle
from opgen.comparison.calls_by_page import calls_by_page
from opgen.spec.conditions import CasesOfPage, chosen


def where(bundle: Bundle, text: str, verdicts: Mapping[str, str] | None = None) -> list[str]:
    """The ids of the cases for which a condition is true, in the order of the bundle.

    Beside the names of :func:`opgen.spec.conditions.chosen` it may ask for ``kind``, ``recipe``,
    ``bucket``, ``rule``, the first rule that the call breaks, and, if there are ``verdicts`` by id,
    ``verdict``.
    """
    return [bundle.ids[row] for row in chosen(_pages(bundle, verdicts), text)]


def _pages(bundle: Bundle, verdicts: Mapping[str, str] | None) -> Iterator[CasesOfPage]:
    for spec, rows, table in calls_by_page(bundle, range(len(bundle))):
        cases = [bundle[bundle.ids[row]] for row in rows.tolist()]
        texts: dict[str, list[str]] = {
            "kind": [case.kind for case in cases],
            "recipe": [case.recipe for case in cases],
            "bucket": [case.expect.bucket for case in cases],
            "rule": [next((broken.rule for broken in case.expect.breaks), "") for case in cases],
        }
        if verdicts is not None:
            texts["verdict"] = [verdicts.get(case.id, "") for case in cases]
        yield CasesOfPage(spec, rows, table, texts)
