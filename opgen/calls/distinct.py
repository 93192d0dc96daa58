"""What is equal is looked at once: equal things get one number, equal answers are one object."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import compress

import numpy as np


def numbered(keys: Iterable[Hashable]) -> tuple[np.ndarray, np.ndarray]:
    """(the number of each key, where each number first stands); equal keys have one number, in the order of the first.

    >>> numbered("abba")
    (array([0, 1, 1, 0]), array([0, 1]))
    """
    seen: dict[Hashable, int] = {}
    number = np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.intp)
    first = np.empty(len(seen), dtype=np.intp)
    first[number[::-1]] = np.arange(len(number))[::-1]  # the last that is written stays
    return number, first


def chosen(columns: Mapping[str, np.ndarray]) -> list[tuple[str, ...]]:
    """Per row, the names of the bool columns that hold there; equal answers are one object.

    >>> chosen({"x": np.array([True, False]), "y": np.array([True, True])})
    [('x', 'y'), ('y',)]
    """
    known: dict[tuple[bool, ...], tuple[str, ...]] = {}
    rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    for row in set(rows):
        known[row] = tuple(compress(columns, row))
    return [known[row] for row in rows]
