"""Reading a bundle: cases by id, by number, or one after the other, without holding the file in
memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from opgen.bundle import dtypes
from opgen.bundle.batches import Batch, batches
from opgen.bundle.case import CaseView, Parameter
from opgen.bundle.dtypes import TEXTS, BundleError
from opgen.bundle.finished import Finished
from opgen.bundle.tensorrow import TensorRow


class Bundle(Finished):
    """A bundle for reading: ``opgen.open("suite.h5")``.

    Iteration, ``bundle["case-id"]``, ``bundle[row]`` and ``len(bundle)`` give cases;
    ``bundle.cases`` is a structured array with a row per case, ``bundle.tables`` the tables as
    stored.
    """

    KIND = "bundle"

    def __len__(self) -> int:
        return len(self.tables["cases"])

    def __iter__(self) -> Iterator[CaseView]:
        return (CaseView(self, row) for row in range(len(self)))

    def batches(self, limit: int = 4 << 20) -> Iterator[Batch]:
        """All cases in order, stacked where neighbours are equal in form: the fast way to scan."""
        return batches(self, limit)

    def __getitem__(self, key: str | int) -> CaseView:
        row = (
            self.rows.get(key, -1) if isinstance(key, str) else key + len(self) if key < 0 else key
        )
        if not 0 <= row < len(self):
            raise KeyError(f"no case {key!r} among the {len(self)} of {self.path}")
        return CaseView(self, row)

    def __contains__(self, key: object) -> bool:
        return key in self.rows

    @cached_property
    def ids(self) -> list[str]:
        """The id of every case, by row."""
        return [text.decode() for text in self.tables["cases"]["id"].tolist()]

    @cached_property
    def rows(self) -> dict[str, int]:
        """Case id to row."""
        return {name: row for row, name in enumerate(self.ids)}

    @cached_property
    def columns(self) -> dict[str, int]:
        """Column of ``/cases`` to its number."""
        return {name: at for at, name in enumerate(self.tables["cases"].dtype.names or ())}

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

    def tensor(self, row: TensorRow) -> np.ndarray:
        """The stored elements of one row of ``/tensors``: 1-D, owned by the caller. BundleError if
        damaged.
        """
        try:
            return self.data.tensor(row.dtype, row.elements, row.position, row.digest)
        except ValueError as error:
            where = f"{self.ids[row.case]}: {self.names[row.name]}"
            raise BundleError(f"{self.path}: damaged: {where} {error}") from None

    def sequence(self, number: int) -> tuple[int, ...] | None:
        """A list of integers by its number; None for a null pointer."""
        if number == 0:
            return None
        found = self._lists.get(number)
        if found is None:
            start, length = self.tables["lists"][number].tolist()
            found = self._lists[number] = tuple(
                self.tables["integers"][start : start + length].tolist()
            )
        return found

    def codes(self, number: int) -> tuple[int | str, ...]:
        """A list of status codes by its number, words as words."""
        found = self._codes.get(number)
        if found is None:
            words = {code: word for word, code in dtypes.CODE_WORDS.items()}
            found = self._codes[number] = tuple(
                words.get(code, code) for code in self.sequence(number) or ()
            )
        return found

    @cached_property
    def words(self) -> dict[str, dict[int, str]]:
        """``table.column`` to number to word, for every enumeration in the file."""
        return {
            f"{name}.{column}": dtypes.words_of(table.dtype[column])
            for name, table in self.tables.items()
            for column in table.dtype.names or ()
            if dtypes.words_of(table.dtype[column])
        }

    @cached_property
    def names(self) -> list[str]:
        """The names of tensors, by number."""
        words = self.words["tensors.name"]
        return [words[i] for i in range(len(words))]

    @cached_property
    def parameters(self) -> dict[str, list[Parameter]]:
        """API to its parameters in prototype order: name, kind, and the columns of the attributes
        table.
        """
        result: dict[str, list[Parameter]] = {api: [] for api in self.words["cases.op"].values()}
        ops, names, kinds = (
            self.words[f"parameters.{column}"] for column in ("op", "name", "kind")
        )
        for op, name, kind in self.tables["parameters"].tolist():
            columns = self.tables[f"attributes/{ops[op]}"].dtype.names or ()
            result[ops[op]].append(
                Parameter(
                    names[name],
                    kinds[kind],
                    columns.index(names[name]) if names[name] in columns else -1,
                    (
                        columns.index(f"{names[name]}.null")
                        if f"{names[name]}.null" in columns
                        else -1
                    ),
                )
            )
        return result

    @cached_property
    def ranges(self) -> dict[int, tuple[float, float]]:
        """Tensor row to the range that its data were asked to lie in."""
        return {row: (low, high) for row, low, high in self.tables["ranges"].tolist()}

    @cached_property
    def _lists(self) -> dict[int, tuple[int, ...]]:
        return {}

    @cached_property
    def _codes(self) -> dict[int, tuple[int | str, ...]]:
        return {}

    def _column(self, name: str) -> list[str]:
        words = self.words[f"cases.{name}"]
        return [words[number] for number in self.tables["cases"][name].tolist()]


def _objects(values: list[Any]) -> np.ndarray:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result
