"""Reading a bundle: cases by id, by number, or one after the other, without holding the file in
memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from opgen.bundle.format.dtypes import TEXTS
from opgen.bundle.read.batches import CaseStack, batches
from opgen.bundle.read.case import CaseView
from opgen.bundle.read.contents import BundleTables


class Bundle(BundleTables):
    """A bundle for reading: ``opgen.open("suite.h5")``.

    Iterate over it for its cases, or ask for one: ``bundle["case-id"]`` or ``bundle[row]``.
    ``len(bundle)`` is their number, and ``bundle.ids`` are their ids. ``bundle.cases`` is a
    structured array with a row per case, and ``bundle.tables`` holds the tables as stored.
    """

    def __iter__(self) -> Iterator[CaseView]:
        return (CaseView(self, row) for row in range(len(self)))

    def batches(self, limit: int = 4 << 20) -> Iterator[CaseStack]:
        """All cases in order, stacked where neighbours are equal in form: the fast way to scan."""
        return batches(self, limit)

    def __getitem__(self, key: str | int) -> CaseView:
        row = (
            self.rows.get(key, -1) if isinstance(key, str) else key + len(self) if key < 0 else key
        )
        if not 0 <= row < len(self):
            raise KeyError(f"no case {key!r} among the {len(self)} of {self.path}")
        return CaseView(self, row)

    @cached_property
    def cases(self) -> np.ndarray:
        """A row per case, in words: id, op, product, kind, intent, phase, codes (a tuple), bucket,
        recipe, ...
        """
        table = self.tables["cases"]
        columns: dict[str, np.ndarray] = {"id": _objects(self.ids)}
        for name in ("op", "product", "kind", "bucket"):
            columns[name] = np.array(self._column(name)) if len(table) else np.empty(0, dtype="U1")
        columns["phase"] = table["phase"]
        for name in TEXTS:
            columns[name] = _objects(self.strings)[table[name]]
        columns["codes"] = _objects(list(map(self.codes, table["codes"].tolist())))
        result = np.empty(
            len(table), dtype=[(name, column.dtype) for name, column in columns.items()]
        )
        for name, column in columns.items():
            result[name] = column
        return result

    def _column(self, name: str) -> list[str]:
        words = self.words[f"cases.{name}"]
        return [words[number] for number in self.tables["cases"][name].tolist()]


def _objects(values: Sequence[object]) -> np.ndarray:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result
