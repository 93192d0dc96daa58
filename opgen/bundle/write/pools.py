"""Texts and lists of integers, each stored once and named by a number."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TypeVar

import numpy as np

from opgen.bundle.format import schema
from opgen.bundle.format.dtypes import checked
from opgen.calls.categorical import Categorical

NULL, EMPTY = 0, 1
"""The rows of ``/lists`` that stand for a null pointer and for length 0."""

Value = TypeVar("Value")


def numbered(
    number: Callable[[Value], int], *columns: tuple[Categorical[Value], np.ndarray]
) -> list[np.ndarray]:
    """Columns as numbers of their values, given as if asked for row by row, and in a row in the
    order of the columns.

    Each column comes with the case of each of its rows, ascending.
    """
    values = list(chain.from_iterable(column.values for column, _ in columns))
    when = np.concatenate([cases[column.first] for column, cases in columns])
    numbers = np.empty(len(values), dtype=np.int64)
    for place in np.argsort(when, kind="stable").tolist():
        numbers[place] = number(values[place])
    ends = np.cumsum([len(column.values) for column, _ in columns])[:-1]
    return [
        mine[column.number]
        for mine, (column, _) in zip(np.split(numbers, ends), columns, strict=True)
    ]


class Strings:
    """Texts by number; number 0 is the empty text."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def number(self, text: str | None) -> int:
        """The number of ``text``; None counts as empty."""
        if not text:
            return 0
        if text not in self._numbers:
            self._numbers[checked(text)] = len(self._numbers)
        return self._numbers[text]

    @property
    def all(self) -> list[str]:
        """Every text, by number."""
        return list(self._numbers)


class Lists:
    """Lists of integers by number; equal lists are stored once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {(): EMPTY}

    def number(self, values: tuple[int, ...] | None) -> int:
        """The number of a list; :data:`NULL` for None, which is not the empty list."""
        if values is None:
            return NULL
        return self._numbers.setdefault(values, len(self._numbers) + 1)

    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """``/lists`` and ``/integers``."""
        lengths = np.fromiter(map(len, chain([()], self._numbers)), dtype=np.int64)
        cells = {"start": np.cumsum(lengths) - lengths, "length": lengths}
        lists = schema.table(schema.BUNDLE["lists"], cells)
        return lists, np.fromiter(chain.from_iterable(self._numbers), dtype="<i8")
