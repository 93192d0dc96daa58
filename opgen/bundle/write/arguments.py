"""The arguments of the calls of one API, as the tables of a bundle have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from opgen.bundle.format import dtypes
from opgen.bundle.format.dtypes import BundleError
from opgen.calls.case_table import CaseTable
from opgen.calls.categorical import Categorical
from opgen.calls.columns import ArrayColumn, ScalarColumn, TypedColumn
from opgen.calls.factorize import factorize_rows
from opgen.calls.kinds import KINDS, REAL
from opgen.calls.table import CallTable
from opgen.calls.vocabulary import vocabulary

Integers = tuple[int, ...]


@dataclass(frozen=True)
class Arguments:
    """The cases of an API, by row of ``/cases``, and what each calls it with."""

    cases: np.ndarray
    calls: CallTable

    @classmethod
    def by_api(cls, cases: CaseTable) -> dict[str, Arguments]:
        """Those of every API, in the order of the first case of each."""
        groups = [np.flatnonzero(cases.api.number == i) for i in range(len(cases.api.values))]
        return {
            api: cls(rows, cases.calls_of(rows))
            for api, rows in zip(cases.api.values, groups, strict=True)
        }

    @property
    def kinds(self) -> dict[str, str]:
        """Parameter to its kind; ``null`` where no case has a value."""
        return {name: self._kind(name) for name in self.calls.columns}

    def _kind(self, name: str) -> str:
        column, kind = self.calls.columns[name], self.calls.kinds[name]
        if column.null.all():
            return "null"
        if KINDS[kind].family == "list":
            return "tensor_list"
        if isinstance(column, ArrayColumn):
            return kind if column.length[~column.null].any() else "int_array"
        if isinstance(column, TypedColumn):
            return kind
        term = KINDS[kind].element.term
        return "tensor" if kind == "tensor" else "float" if term in REAL else term

    @property
    def arrays(self) -> dict[str, Categorical[Integers | None]]:
        """The columns of arrays, None for a null pointer; of reals the bits of each."""
        return {
            name: integer_lists(~column.null, column.length, _bits(column.values))
            for name, column in self.calls.columns.items()
            if isinstance(column, ArrayColumn) and not column.null.all()
        }

    @property
    def texts(self) -> dict[str, Categorical[str]]:
        """The columns of texts, empty for a null pointer."""
        return {
            name: Categorical.of(column.values.tolist())
            for name, column in self.calls.columns.items()
            if isinstance(column, ScalarColumn) and column.values.dtype.kind == "U"
        }

    def table(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """``/attributes/<api>``: the column ``case``, then one per parameter that is no tensor.

        ``arrays`` has the numbers in ``/lists``, and those of texts in ``/strings``. A column of
        scalars has the narrowest type that holds its values; where a scalar is null, a column
        ``<name>.null`` says so.
        """
        columns = {"case": self.cases.astype("<u4")}
        for name, column in self.calls.columns.items():
            if name in arrays:
                columns[name] = arrays[name].astype("<u4")
            elif isinstance(column, ScalarColumn | TypedColumn) and not column.null.all():
                columns[name] = _narrowed(column.values)
            if name in columns and isinstance(column, TypedColumn):
                columns[f"{name}.dtype"] = _dtypes(column.dtype)
            if (
                name in columns
                and isinstance(column, ScalarColumn | TypedColumn)
                and column.null.any()
            ):
                columns[f"{name}.null"] = column.null
        table = np.empty(
            len(self.cases), dtype=[(name, values.dtype) for name, values in columns.items()]
        )
        for name, values in columns.items():
            table[name] = values
        return table


def _dtypes(positions: np.ndarray) -> np.ndarray:
    """(rows,) the numbers that a bundle has for dtypes of the vocabulary."""
    numbers = [dtypes.DTYPES[word] for word in vocabulary().names["dtype"]]
    return np.asarray(np.array(numbers, dtype=np.int8)[positions])


def _bits(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float64).view(np.int64) if values.dtype.kind == "f" else values


def integer_lists(
    there: np.ndarray, length: np.ndarray, values: np.ndarray
) -> Categorical[Integers | None]:
    """Rows of a matrix as lists, each as long as ``length`` says; None where they are not
    ``there``.

    BundleError where an integer does not fit.
    """
    if not there.any():
        return Categorical.constant(None, len(there))
    length = np.where(there, length, -1)
    inside = np.arange(values.shape[1]) < length[:, None]
    values = np.where(inside, integers(values), 0)
    number, first = factorize_rows(np.concatenate([length[:, None], values], axis=1))
    rows = zip(values[first].tolist(), length[first].tolist(), strict=True)
    return Categorical(
        tuple([tuple(row[:count]) if count >= 0 else None for row, count in rows]), number
    )


def integers(values: np.ndarray) -> np.ndarray:
    """Integers as int64; BundleError where one does not fit."""
    try:
        return values.astype(np.int64)
    except OverflowError:
        wide = next(value for value in values.flat if not -(1 << 63) <= value < 1 << 63)
        raise BundleError(
            f"{wide} does not fit the 64 bits that a bundle keeps of an integer"
        ) from None


def _narrowed(values: np.ndarray) -> np.ndarray:
    """Integers in the narrowest type that holds them all, reals in the widest, truths as they
    are.
    """
    if values.dtype == object:
        return values.astype(np.uint64)
    if values.dtype.kind != "i":
        return values.astype(np.float64) if values.dtype.kind == "f" else values
    low, high = int(values.min()), int(values.max())
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    return values
