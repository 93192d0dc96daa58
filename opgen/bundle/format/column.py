"""Columns by their distinct values, so that each value is worked out once, and rows in groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Generic, TypeVar

import numpy as np

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Column(Generic[T]):
    """A column by its distinct values, in the order of first use.

    ``first`` (values,) is the row where each value is first, ``number`` (rows,) the number of each
    row's value.
    """

    values: list[T]
    first: np.ndarray
    number: np.ndarray

    @classmethod
    def of(cls, column: Sequence[T]) -> Column[T]:
        """Equal values are one, so True is 1."""
        numbers: defaultdict[T, int] = defaultdict(count().__next__)
        number = np.fromiter(map(numbers.__getitem__, column), dtype=np.int64, count=len(column))
        first = np.empty(len(numbers), dtype=np.int64)
        first[number[::-1]] = np.arange(len(number) - 1, -1, -1)  # the last that is assigned stays
        return cls(list(numbers), first, number)

    @classmethod
    def same(cls, column: Sequence[T]) -> Column[T]:
        """One object is one value, equal or not; none is hashed."""
        found = Column.of(list(map(id, column)))
        return cls([column[at] for at in found.first.tolist()], found.first, found.number)

    def map(self, change: Callable[[T], U]) -> Column[U]:
        """The column with every value changed."""
        return Column([change(value) for value in self.values], self.first, self.number)

    def by(self, change: Callable[[T], U]) -> Column[U]:
        """The column of what values are changed to, of which several may be changed to the same."""
        other = Column.of([change(value) for value in self.values])
        return Column(other.values, self.first[other.first], other.number[self.number])

    def numbers(self, known: Callable[[T], int]) -> np.ndarray:
        """(rows,) int64, looked up once for each value."""
        return np.array([known(value) for value in self.values], dtype=np.int64).take(self.number)


def spread(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Groups of ``counts`` rows each, one after the other: the group of every row, and its place
    within the group.
    """
    group = np.repeat(np.arange(len(counts)), counts)
    return group, np.arange(len(group)) - (np.cumsum(counts) - counts)[group]
