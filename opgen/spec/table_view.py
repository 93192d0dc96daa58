"""Reading names off a table: which column a letter, a slot or an attribute means, and where it is
bound.

A letter is read from the first parameter, in prototype order, whose row has it: a null pointer, a
rank that the page does not know or an array of another length leaves its names to the next place,
or unbound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from opgen.calls import bigint, layout
from opgen.calls.columns import ArrayColumn, Column, ScalarColumn, TensorColumn, TypedColumn
from opgen.calls.factorize import factorize_rows
from opgen.calls.table import CallTable
from opgen.calls.vocabulary import vocabulary
from opgen.spec.language.term import Asked, FixedView, Reference, Term
from opgen.spec.language.value import Value
from opgen.spec.spec import Occurrence, Spec

_FAR = 2.0**62
"""What stands for every whole number beyond it: no limit of a page is as large."""
Mask: TypeAlias = np.ndarray | bool
"""(rows,) bool, or ``True`` for everywhere."""


class TableView(FixedView):
    """The names of a spec, and ``added`` ones, over the rows of a table; values are computed once,
    and one that is bound everywhere says so with ``True``.
    """

    def __init__(
        self, spec: Spec, table: CallTable, added: Mapping[str, Term] = MappingProxyType({})
    ) -> None:
        super().__init__()
        self.spec, self.table, self.added = spec, table, added
        self.known: dict[Reference, Value] = {}
        self.sized: dict[tuple[str, int, str], np.ndarray] = {}

    def naming(self, added: Mapping[str, Term]) -> TableView:
        """The same with more names; what is known of it is not computed again."""
        view = TableView(self.spec, self.table, added)
        view.known |= self.known
        return view

    def get(self, reference: Reference) -> Value:
        value = self.known.get(reference)
        if value is None:
            value = self.read(reference)
            if value.bound is not True and np.count_nonzero(value.bound) == value.bound.size:
                value = Value(value.data, True)
            self.known[reference] = value
        return value

    def bindings(self, rows: np.ndarray) -> list[dict[str, Any]]:
        """What some rows bind, as kernels take it: scalars, letters of shapes, slots of arrays,
        arrays of reals as tuples. Truths are 0 and 1.
        """
        columns = self.table.columns.items()
        scalars = [
            name for name, column in columns if isinstance(column, ScalarColumn | TypedColumn)
        ]
        arrays = {
            name: column
            for name, column in columns
            if isinstance(column, ArrayColumn) and column.values.dtype.kind == "f"
        }
        names = np.array([*scalars, *self.spec.scope.occurrences, *arrays], dtype=object)
        values = [self.get((name, "")) for name in names[: len(names) - len(arrays)]]
        values += [Value(column.items(), _there(column)) for column in arrays.values()]
        everywhere = np.ones(len(rows), bool)
        numbers = np.array([_as_kernels_take(value.data[rows]) for value in values]).T
        bound = np.array(
            [everywhere if value.bound is True else value.bound[rows] for value in values]
        ).T
        bindings: list[dict[str, Any]] = [{}] * len(rows)
        alike, first = factorize_rows(bound)
        for number, there in enumerate(bound[first]):
            some, mine = names[there].tolist(), np.flatnonzero(alike == number)
            for row, items in zip(mine.tolist(), numbers[mine][:, there].tolist(), strict=True):
                bindings[row] = dict(zip(some, items, strict=False))
        return bindings

    def read(self, reference: Reference) -> Value:
        name, what = reference
        if what == "":
            if name in self.added:
                return self.added[name].value(self)
            if name == "product":
                return Value(self.table.product)
            column = self.table.columns.get(name)
            if isinstance(column, ScalarColumn | TypedColumn):
                return Value(column.values, _there(column))
            return self.letter(name)
        column = self.table.columns[name]
        if what == "null":
            return Value(column.null)
        if isinstance(column, ScalarColumn):
            return Value(column.values, _there(column))  # how many tensors a list has
        if isinstance(column, TypedColumn):
            return Value(column.dtype, _there(column))
        if isinstance(column, TensorColumn):
            return _tensor(column, what)
        assert isinstance(column, ArrayColumn)
        return _array(column, what)

    def letter(self, name: str) -> Value:
        """The first bound occurrence of a letter or slot name, and its fallback."""
        rows = len(self.table)
        data, bound = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=bool)
        count = 0
        for occurrence in self.spec.scope.occurrences[name]:
            here = self.has(occurrence)
            if not np.count_nonzero(here):
                continue
            column = self.table.columns[occurrence.parameter]
            items = (column.shape if isinstance(column, TensorColumn) else column.values)[
                :, occurrence.index
            ]
            data, bound = (np.where(bound, data, items), bound | here) if count else (items, here)
            count = int(np.count_nonzero(bound))
            if count == rows:
                return Value(data)
        for parameter in self.spec.parameters.values():
            for length, fallbacks in parameter.otherwise.items():
                if name in fallbacks:
                    array = self.table.columns[parameter.name]
                    assert isinstance(array, ArrayColumn)
                    other = self.get((fallbacks[name], ""))
                    here = ~array.null & (array.length == length) & other.bound & ~bound
                    data, bound = np.where(here, other.data, data), bound | here
        return Value(data, bound)

    def has(self, place: Occurrence) -> np.ndarray:
        """(rows,) bool: where a parameter has so many axes, in that order, or items that mean
        something: those of an array whose own length rule is broken do not.
        """
        parameter, size, layout = place.parameter, place.size, place.format
        here = self.sized.get((parameter, size, layout))
        if here is None:
            column, rule = self.table.columns[parameter], self.spec.rule.get(f"{parameter}.length")
            assert isinstance(column, TensorColumn | ArrayColumn)
            here = ~column.null & (
                (column.rank if isinstance(column, TensorColumn) else column.length) == size
            )
            if layout and isinstance(column, TensorColumn):
                here &= column.format == vocabulary().index["format"][layout]
            if rule is not None and np.count_nonzero(here):
                here &= ~rule.broken(self, len(self.table))
            self.sized[parameter, size, layout] = here
        return here


def _as_kernels_take(values: np.ndarray) -> np.ndarray:
    return (values.astype(np.int64) if values.dtype.kind in "bi" else values).astype(object)


def _tensor(column: TensorColumn, what: Asked) -> Value:
    there = _there(column)
    if isinstance(what, tuple):
        return _item(column.shape, column.rank, what[1], there)
    if what in ("lowest", "highest"):
        return _extreme(column.shape, column.rank, there, lowest=what == "lowest")
    if what in ("least", "greatest"):
        filled = np.asarray(column.numel() != 0)  # no element is out of range where there is none
        return _asked(column.limits[:, 0 if what == "least" else 1], there & filled)
    if what == "total":  # known where every element is asked to be the same
        least, greatest = (_tensor(column, end) for end in ("least", "greatest"))
        alike = np.asarray(least.bound & greatest.bound & (least.data == greatest.data))
        empty = np.asarray(column.numel() == 0)
        data = bigint.multiply(np.where(alike, least.data, 0), column.numel())
        return Value(data, there & (alike | empty))
    return Value(_OF_TENSORS[str(what)](column), there)


_OF_TENSORS: Mapping[str, Callable[[TensorColumn], Any]] = {
    "dtype": attrgetter("dtype"),
    "format": attrgetter("format"),
    "rank": attrgetter("rank"),
    "shape": attrgetter("rank", "shape"),
    "numel": TensorColumn.numel,
    "storage_numel": layout.storage_numel,
    "strided": lambda column: ~layout.contiguous(column),
}
"""What may be asked of a tensor that is there, besides extents."""


def _array(column: ArrayColumn, what: Asked) -> Value:
    there = _there(column)
    if isinstance(what, int):
        return _item(column.values, column.length, what, there)
    if what == "len":
        return Value(column.length, there)
    if what == "values":
        return Value((column.length, column.values), there)
    return _extreme(column.values, column.length, there, lowest=what == "lowest")


def _there(column: Column) -> Mask:
    """Where a parameter is no null pointer; ``True`` for everywhere."""
    return ~column.null if np.count_nonzero(column.null) else True


def _item(matrix: np.ndarray, sizes: np.ndarray, index: int, there: Mask) -> Value:
    """One of each row's first ``sizes`` values, a negative index from their end; unbound where
    there is none.
    """
    last = matrix.shape[1] - 1
    if index >= 0:
        return Value(matrix[:, min(index, last)], there & (sizes > index))
    position = sizes + index
    return Value(
        matrix[np.arange(len(matrix)), np.clip(position, 0, last)], there & (position >= 0)
    )


def _asked(limit: np.ndarray, there: Mask) -> Value:
    """The least or the greatest element that is asked for; unbound where nothing is, or no whole
    number.
    """
    whole = limit == np.floor(limit)
    return Value(
        np.clip(np.where(whole, limit, -_FAR), -_FAR, _FAR).astype(np.int64), there & whole
    )


def _extreme(matrix: np.ndarray, sizes: np.ndarray, there: Mask, lowest: bool) -> Value:
    """The smallest or largest of each row's first ``sizes`` values; unbound where there is none."""
    return Value(bigint.extreme(matrix, sizes, lowest), there & (sizes > 0))
