"""The calls of a bundle as columns, page by page: those that one page judges stand together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from opgen.bundle.read.call_columns import call_table
from opgen.bundle.read.reader import Bundle
from opgen.calls.table import CallTable
from opgen.numerics.arrays import Array
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
    for spec in known.specs:
        own = rows[np.array([page is spec for page in pages], dtype=bool)[kind]]
        if len(own):
            yield spec, own, call_table(bundle, spec.api, own, spec.kinds)
