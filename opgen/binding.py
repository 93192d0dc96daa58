"""Reading names off a table: which column a letter, a slot or an attribute means, and where it is bound.

A letter is read from the first parameter, in prototype order, whose row has it: a null pointer, a rank that the page does
not know or an array of another length leaves its names to the next place, or unbound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opgen import wide
from opgen.formulas import Value
from opgen.spec import Occurrence, Spec
from opgen.table import ArrayColumn, CallTable, ScalarColumn, TensorColumn
from opgen.terms import Reference


class TableView:
    """The names of a spec over the rows of a table; values are computed once, and one that is bound everywhere says so with ``True``."""

    def __init__(self, spec: Spec, table: CallTable) -> None:
        self.spec = spec
        self.table = table
        self.known: dict[Reference, Value] = {}

    def get(self, reference: Reference) -> Value:
        value = self.known.get(reference)
        if value is None:
            value = self.read(reference)
            if value.bound is not True and value.bound.all():
                value = Value(value.data, True)
            self.known[reference] = value
        return value

    def read(self, reference: Reference) -> Value:
        name, what = reference
        if what == "":
            if name == "product":
                return Value(self.table.product)
            column = self.table.columns.get(name)
            if isinstance(column, ScalarColumn):
                return Value(column.values)
            return self.letter(name)
        column = self.table.columns[name]
        if isinstance(column, TensorColumn):
            return _tensor(column, what)
        assert isinstance(column, ArrayColumn)
        return _array(column, what)

    def letter(self, name: str) -> Value:
        """The first bound occurrence of a letter or slot name, and its fallback."""
        rows = len(self.table)
        data: Any = np.zeros(rows, dtype=np.int64)
        bound = np.zeros(rows, dtype=bool)
        for occurrence in self.spec.scope.occurrences[name]:
            here, values = self.occurrence(occurrence)
            data = np.where(bound, data, values)
            bound = bound | here
            if bound.all():
                return Value(data)
        for parameter in self.spec.parameters.values():
            for length, fallbacks in parameter.otherwise.items():
                if name in fallbacks:
                    column = self.table.columns[parameter.name]
                    assert isinstance(column, ArrayColumn)
                    other = self.get((fallbacks[name], ""))
                    here = ~column.null & (column.length == length) & other.bound & ~bound
                    data, bound = np.where(here, other.data, data), bound | here
        return Value(data, bound)

    def occurrence(self, occurrence: Occurrence) -> tuple[np.ndarray, np.ndarray]:
        """(where the parameter has this place, the values there)."""
        column = self.table.columns[occurrence.parameter]
        matrix, size = (column.shape, column.rank) if isinstance(column, TensorColumn) else (column.values, column.length)  # type: ignore[union-attr]
        here = ~column.null & (size == occurrence.size)  # type: ignore[union-attr]
        if occurrence.index >= matrix.shape[1]:
            return here & False, np.zeros(len(self.table), dtype=np.int64)
        return here & self.fitting(occurrence.parameter), matrix[:, occurrence.index]

    def fitting(self, parameter: str) -> Any:
        """Where an array's own length rule holds: items of an array of a wrong length mean nothing."""
        rule = self.spec.rule.get(f"{parameter}.length")
        if rule is None:
            return True
        reference = (parameter, "fitting")
        if reference not in self.known:
            self.known[reference] = Value(~rule.broken(self, len(self.table)))
        return self.known[reference].data


def _tensor(column: TensorColumn, what: Any) -> Value:
    there = ~column.null
    if isinstance(what, tuple):
        index = what[1]
        position = np.where(index >= 0, index, column.rank + index)
        inside = there & (position >= 0) & (position < column.rank)
        safe = np.clip(position, 0, column.shape.shape[1] - 1)
        return Value(column.shape[np.arange(len(safe)), safe], inside)
    readers: dict[str, Callable[[], Value]] = {
        "null": lambda: Value(column.null),
        "dtype": lambda: Value(column.dtype, there),
        "format": lambda: Value(column.format, there),
        "rank": lambda: Value(column.rank, there),
        "shape": lambda: Value((column.rank, column.shape), there),
        "numel": lambda: Value(column.numel(), there),
        "strided": lambda: Value(column.strided, there),
        "lowest": lambda: _extreme(column.shape, column.rank, there, lowest=True),
        "highest": lambda: _extreme(column.shape, column.rank, there, lowest=False),
    }
    return readers[what]()


def _array(column: ArrayColumn, what: Any) -> Value:
    there = ~column.null
    if isinstance(what, int):
        position = np.where(what >= 0, what, column.length + what)
        inside = there & (position >= 0) & (position < column.length)
        safe = np.clip(position, 0, column.values.shape[1] - 1)
        return Value(column.values[np.arange(len(safe)), safe], inside)
    if what == "null":
        return Value(column.null)
    if what == "len":
        return Value(column.length, there)
    return _extreme(column.values, column.length, there, lowest=what == "lowest")


def _extreme(matrix: np.ndarray, sizes: np.ndarray, there: np.ndarray, lowest: bool) -> Value:
    """The smallest or largest of each row's first ``sizes`` values; unbound where there is none."""
    inside = np.arange(matrix.shape[1]) < sizes[:, None]
    if matrix.dtype == object:
        first = np.where(sizes > 0, matrix[:, 0], 0)
        filled = np.where(inside, matrix, first[:, None])
    else:
        limits = np.iinfo(np.int64)
        filled = np.where(inside, matrix, limits.max if lowest else limits.min)
    values = filled.min(axis=1) if lowest else filled.max(axis=1)
    return Value(wide.as_column(values) if matrix.dtype == object else values, there & (sizes > 0))
