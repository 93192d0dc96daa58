"""The tables of a bundle, every number in them looked up where it is asked for."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from opgen.bundle.format import dtypes
from opgen.bundle.format.digest import digest_of
from opgen.bundle.format.tensorrow import DRAWN, TensorRow
from opgen.bundle.read.finished import FinishedFile
from opgen.numerics.maxima import first_largest

_WORDS = {code: word for word, code in dtypes.CODE_WORDS.items()}


class ParameterColumns(NamedTuple):
    """A parameter of an API: its kind, and its column (and null column) in the attributes, -1 where
    it has none.
    """

    name: str
    kind: str
    column: int
    null: int
    dtype: int


class BundleTables(FinishedFile):
    """A bundle by its tables, as cases and batches read it; :class:`Bundle` adds the cases."""

    def __init__(self, path: str | Path, *, check: bool = True) -> None:
        super().__init__(path, "bundle", check)

    @cached_property
    def columns(self) -> dict[str, int]:
        """Column of ``/cases`` to its number."""
        return {name: i for i, name in enumerate(self.tables["cases"].dtype.names or ())}

    def tensor(self, row: TensorRow) -> np.ndarray:
        """The stored elements of one row of ``/tensors``: 1-D, owned by the caller. BundleError if
        damaged.
        """
        if row.position == DRAWN:
            return self._drawn(row)
        return self.elements(row.case, row.name, row.dtype, row.elements, row.position, row.digest)

    def _drawn(self, row: TensorRow) -> np.ndarray:
        """The elements of a tensor that the file holds a seed of, or what its maxima are of."""
        dtype, key = self.words["tensors.dtype"][row.dtype], (row.case, row.name)
        if key in self._seeds:
            from opgen.numerics.fill import drawn_again

            start, low, high, exponent = self._seeds[key]
            values = drawn_again(start, (low, high, exponent), row.elements, dtype)
        elif not row.elements:
            values = np.zeros(0, dtypes.numpy_dtype(dtype))
        else:
            values = self._largest(row, dtype, *self._maxima[key])
        if self.check and digest_of(values.view(np.uint8).data) != row.digest:
            raise self.damage(row.case, row.name)
        return values

    def _largest(self, row: TensorRow, dtype: str, of: int, *windows: int) -> np.ndarray:
        """The indices of the largest elements of a tensor in its windows."""
        source = TensorRow._make(self.tables["tensors"][of].item())
        extents = (self.sequence(row.shape) or ())[-2:]
        rows, columns = (
            np.array(self.sequence(number) or (), dtype=np.int64).reshape(-1, extent)
            for number, extent in zip(windows, extents, strict=True)
        )
        image = self.tensor(source).reshape(self.sequence(source.shape) or ())
        return first_largest(image, rows, columns, dtypes.numpy_dtype(dtype)).reshape(-1)

    @cached_property
    def _seeds(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """(case, name) to where its stream begins, and its steps."""
        return self._unheld("seeds")

    @cached_property
    def _maxima(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """(case, name) to the tensor that its indices are of, and the lists of its windows."""
        return self._unheld("maxima")

    def _unheld(self, table: str) -> dict[tuple[int, int], tuple[int, ...]]:
        rows = self.tables[table]
        drawn = self.tables["tensors"][rows["tensor"]]
        keys = zip(drawn["case"].tolist(), drawn["name"].tolist(), strict=True)
        return {key: tuple(row[1:]) for key, row in zip(keys, rows.tolist(), strict=True)}

    def codes(self, number: int) -> tuple[int | str, ...]:
        """A list of status codes by its number, words as words."""
        if number not in self._codes:
            codes = self.sequence(number) or ()
            self._codes[number] = tuple(_WORDS.get(code, code) for code in codes)
        return self._codes[number]

    @cached_property
    def _codes(self) -> dict[int, tuple[int | str, ...]]:
        return {}

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
    def parameters(self) -> dict[str, list[ParameterColumns]]:
        """API to its parameters in prototype order: name, kind, and the columns of the attributes
        table.
        """
        result: dict[str, list[ParameterColumns]] = {
            api: [] for api in self.words["cases.op"].values()
        }
        ops, names, kinds = (
            self.words[f"parameters.{column}"] for column in ("op", "name", "kind")
        )
        for op, number, kind in self.tables["parameters"].tolist():
            columns = self.tables[f"attributes/{ops[op]}"].dtype.names or ()
            place = {column: i for i, column in enumerate(columns)}
            name = names[number]
            result[ops[op]].append(
                ParameterColumns(
                    name,
                    kinds[kind],
                    place.get(name, -1),
                    place.get(f"{name}.null", -1),
                    place.get(f"{name}.dtype", -1),
                )
            )
        return result

    @cached_property
    def ranges(self) -> dict[int, tuple[float, float]]:
        """Tensor row to the range that its data were asked to lie in."""
        return {row: (low, high) for row, low, high in self.tables["ranges"].tolist()}
