"""The tables of a bundle, every number in them looked up where it is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from opgen.bundle.format import dtypes
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.format.tensorrow import TensorRow
from opgen.bundle.read.finished import Finished


class Parameter(NamedTuple):
    """A parameter of an API: its kind, and its column (and null column) in the attributes, -1 where
    it has none.
    """

    name: str
    kind: str
    column: int
    null: int


class BundleTables(Finished):
    """A bundle by its tables, as cases and batches read it; :class:`Bundle` adds the cases."""

    KIND = "bundle"

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
