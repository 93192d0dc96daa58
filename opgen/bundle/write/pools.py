"""Texts and lists of integers, each stored once and named by a number."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from opgen.bundle.format.column import Column
from opgen.bundle.format.dtypes import BundleError, checked

LIST = np.dtype([("start", "<u4"), ("length", "<u4")])
"""A row of ``/lists``: where a list lies in ``/integers``. Row 0 stands for a null pointer, row 1
for length 0."""

NULL, EMPTY = 0, 1


class _Pool:
    """Things by number, in the order in which they are asked for."""

    def __call__(self, value: Any) -> int:
        raise NotImplementedError

    def columns(self, *asked: tuple[Column[Any], np.ndarray]) -> list[np.ndarray]:
        """Columns of things turned into columns of numbers, as if asked for row by row, and in a
        row in the order of arguments.

        ``asked`` are columns, each with the case row of each of its rows.
        """
        values = list(chain.from_iterable(column.values for column, _ in asked))
        when = [rows[column.first] for column, rows in asked]
        order = np.argsort(np.concatenate(when), kind="stable")
        numbers = np.empty(len(values), dtype=np.int64)
        numbers[order] = [self(values[at]) for at in order.tolist()]
        ends = np.cumsum([len(column.values) for column, _ in asked])
        return [
            numbers[end - len(c.values) : end][c.number]
            for (c, _), end in zip(asked, ends.tolist(), strict=True)
        ]


class Strings(_Pool):
    """Texts by number; number 0 is the empty text."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def __call__(self, text: str | None) -> int:
        """The number of ``text``; None counts as empty."""
        if not text:
            return 0
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[checked(text)] = len(self._numbers)
        return number

    @property
    def all(self) -> list[str]:
        """Every text, by number."""
        return list(self._numbers)


class Lists(_Pool):
    """Lists of integers by number; equal lists are stored once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {(): EMPTY}

    def __call__(self, values: Iterable[int] | None) -> int:
        """The number of a list; :data:`NULL` for None, which is not the empty list."""
        if values is None:
            return NULL
        key = values if type(values) is tuple else tuple(values)
        return self._numbers.setdefault(key, len(self._numbers) + 1)

    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """``/lists`` and ``/integers``."""
        keys = list(self._numbers)
        lengths = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))
        lists = np.zeros(len(keys) + 1, dtype=LIST)
        lists["length"][1:] = lengths
        lists["start"][2:] = np.cumsum(lengths)[:-1]
        try:
            integers = np.fromiter(chain.from_iterable(keys), dtype="<i8", count=int(lengths.sum()))
        except OverflowError:
            value = next(v for key in keys for v in key if not -(1 << 63) <= int(v) < 1 << 63)
            raise BundleError(
                f"{value} does not fit the 64 bits that a bundle keeps of an integer"
            ) from None
        return lists, integers
