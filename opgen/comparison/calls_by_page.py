"""The calls of a bundle as columns, page by page: those that one page judges stand together; and
what another second source answers to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from opgen.bundle.read.call_columns import call_table
from opgen.bundle.read.reader import Bundle
from opgen.calls.table import CallTable
from opgen.model import CRASH, LibraryAnswer
from opgen.numerics.arrays import Array
from opgen.oracle.errata import Errata
from opgen.oracle.judgement import judge
from opgen.oracle.library import answers_to
from opgen.spec.catalog import catalog, edition_of
from opgen.spec.spec import Spec


def calls_by_page(
    bundle: Bundle, rows: Sequence[int] | Array
) -> Iterator[tuple[Spec, Array, CallTable]]:
    """(page, rows, calls) of some cases, for every page that judges one of them: its rows,
    ascending, and their calls, a row each. A case of an operator that has no page is left out.
    """
    rows = np.unique(np.asarray(rows, dtype=np.int64))
    cases, words = bundle.tables["cases"][rows], bundle.words
    kinds, kind = np.unique(cases[["op", "product"]], return_inverse=True)
    known = catalog(edition_of(bundle.header))
    pages = [
        known.by_page.get((words["cases.op"][op], words["cases.product"][product]))
        for op, product in kinds.tolist()
    ]
    for spec in known.pages({words["cases.op"][op] for op, _ in kinds.tolist()}):
        own = rows[np.array([page is spec for page in pages], dtype=bool)[kind]]
        if len(own):
            yield spec, own, call_table(bundle, spec.api, own, spec.kinds)


def library_anew(
    bundle: Bundle, rows: Sequence[int], source: Mapping[str, Errata]
) -> dict[int, LibraryAnswer | None]:
    """Row of a case -> what errata, by operator, answer to its call, whatever the bundle holds;
    None where they are silent.
    """
    anew: dict[int, LibraryAnswer | None] = dict.fromkeys(rows)
    for spec, own, table in calls_by_page(bundle, rows):
        answers = answers_to(judge(spec, table), source)
        if answers is not None:
            anew |= zip(own.tolist(), answers.answers(), strict=True)
    return anew


def deadly(bundle: Bundle, source: Mapping[str, Errata] | None = None) -> list[str]:
    """The ids of the cases on which a library is known to end the host, by the answers of the
    bundle or, judged anew, by those of errata.
    """
    answers: Mapping[int, LibraryAnswer | None]
    if source is None:
        answers = {row: case.library for row, case in enumerate(bundle)}
    else:
        answers = library_anew(bundle, range(len(bundle)), source)
    return [bundle.ids[row] for row, known in answers.items() if known and CRASH in known.codes]
