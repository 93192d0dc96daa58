"""Columns that repeat few values: each value once, and its number in every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from opgen.calls.factorize import factorize, firsts

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, eq=False)
class Categorical(Generic[T]):
    """A column by its distinct values, in the order of first use: row ``i`` has
    ``values[number[i]]``.

    Values are hashable, all different and all used; ``number`` is (rows,) int. What is asked of
    a column is worked out once for each value.

    >>> column = Categorical.of(["ok", "failed", "ok"])
    >>> column.values, column.number, column.first
    (('ok', 'failed'), array([0, 1, 0]), array([0, 1]))
    """

    values: tuple[T, ...]
    number: np.ndarray

    @classmethod
    def of(cls, column: Sequence[T]) -> Categorical[T]:
        """The column of these rows; equal ones are one value, so True is 1."""
        number, first = factorize(column)
        return cls(tuple([column[row] for row in first.tolist()]), number)

    @classmethod
    def coded(cls, values: Sequence[T], number: np.ndarray) -> Categorical[T]:
        """Rows that have ``values[number]``, where values may repeat and need not be used.

        >>> Categorical.coded("xyx", np.array([2, 1, 0])).values
        ('x', 'y')
        """
        distinct = cls.of(values)
        return cls._used(distinct.values, distinct.number[number])

    @classmethod
    def _used(cls, values: Sequence[T], number: np.ndarray) -> Categorical[T]:
        """The same of values that are all different."""
        first = firsts(number, len(values))
        used = np.flatnonzero(first < len(number))
        used = used[np.argsort(first[used])]
        renumbered = np.zeros(len(values), dtype=np.intp)
        renumbered[used] = np.arange(len(used))
        return cls(tuple([values[i] for i in used.tolist()]), renumbered[number])

    @classmethod
    def constant(cls, value: T, rows: int) -> Categorical[T]:
        """The same value in every row."""
        return cls((value,) if rows else (), np.zeros(rows, dtype=np.intp))

    @classmethod
    def concatenate(cls, columns: Iterable[Categorical[T]]) -> Categorical[T]:
        """The rows of all columns, one column after the other."""
        values: list[T] = []
        numbers = [np.zeros(0, dtype=np.intp)]
        for column in columns:
            numbers.append(column.number + len(values))
            values += column.values
        return cls.coded(values, np.concatenate(numbers))

    def __len__(self) -> int:
        return len(self.number)

    def __getitem__(self, row: int) -> T:
        return self.values[int(self.number[row])]

    def __iter__(self) -> Iterator[T]:
        return map(self.values.__getitem__, self.number.tolist())

    @cached_property
    def first(self) -> np.ndarray:
        """(values,) the row where each value stands first."""
        return firsts(self.number, len(self.values))

    def take(self, rows: np.ndarray) -> Categorical[T]:
        """The rows at ``rows``, in that order, or where a mask is True."""
        return Categorical._used(self.values, self.number[rows])

    def map(self, change: Callable[[T], U]) -> Categorical[U]:
        """Every row changed; values may be changed to the same.

        >>> Categorical.of([1, -1, 2]).map(abs).number
        array([0, 0, 1])
        """
        return Categorical.coded([change(value) for value in self.values], self.number)

    def where(self, mask: np.ndarray, other: T) -> Categorical[T]:
        """The rows that ``mask``, (rows,) bool, keeps, and ``other`` in place of the rest."""
        kept = np.where(mask, self.number, len(self.values))
        return Categorical.coded([*self.values, other], kept)

    def array(self, change: Callable[[T], object], dtype: type = np.int64) -> np.ndarray:
        """(rows,) what ``change`` makes of each row, as numbers or truths.

        >>> Categorical.of(["ok", "failed", "ok"]).array(len)
        array([2, 6, 2])
        """
        return np.array([change(value) for value in self.values], dtype=dtype).take(self.number)

    def mask(self, test: Callable[[T], object]) -> np.ndarray:
        """(rows,) bool: the rows that pass a test."""
        return self.array(lambda value: bool(test(value)), bool)
