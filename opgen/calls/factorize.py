"""Factorizing: equal things get one number, equal answers are one object."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from itertools import compress, count
from typing import TypeVar

import numpy as np

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_SPAN = 1 << 31
"""Numbers below it, multiplied, still fit int64."""


def factorize(keys: Iterable[Hashable]) -> tuple[np.ndarray, np.ndarray]:
    """(the number of each key, where each number first stands); equal keys have one number, in the
    order of the first.

    >>> factorize("abba")
    (array([0, 1, 1, 0]), array([0, 1]))
    """
    seen = defaultdict[Hashable, int](count().__next__)
    number = np.array(list(map(seen.__getitem__, keys)), dtype=np.intp)
    return number, firsts(number, len(seen))


def firsts(number: np.ndarray, count: int) -> np.ndarray:
    """(count,) the row where each number below ``count`` first stands, or, where it stands in none,
    how many rows there are.

    >>> firsts(np.array([2, 0, 2]), 3)
    array([1, 3, 0])
    """
    first = np.full(count, len(number), dtype=np.intp)
    first[number[::-1]] = np.arange(len(number))[::-1]  # the last that is written stays
    return first


def by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Key -> the values that stand beside it, both in the order of the pairs.

    >>> by_key([("odd", 1), ("even", 2), ("odd", 3)])
    {'odd': [1, 3], 'even': [2]}
    """
    values: dict[K, list[V]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


def factorize_rows(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of the rows of a matrix of integers or truths.

    >>> factorize_rows(np.array([[1, 2], [3, 4], [1, 2]]))
    (array([0, 1, 0]), array([0, 1]))
    """
    if not len(matrix):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    key, size = np.zeros(len(matrix), dtype=np.int64), 1
    for column in matrix[:, (matrix != matrix[0]).any(axis=0)].astype(np.int64, copy=False).T:
        low, high = int(column.min()), int(column.max())
        steps = column - low
        if high - low >= _SPAN:
            steps, low, high = np.unique(column, return_inverse=True)[1], 0, len(column)
        if size > _SPAN:
            key, size = np.unique(key, return_inverse=True)[1], len(key)
        key, size = key * (high - low + 1) + steps, size * (high - low + 1)
    if size > 4 * len(key):
        key, size = np.unique(key, return_inverse=True)[1], len(key)
    first = firsts(key, size)
    order = np.argsort(first)
    rank = np.empty(size, dtype=np.intp)
    rank[order] = np.arange(size)
    return rank[key], first[order[: np.count_nonzero(first < len(key))]]


def true_columns(columns: Mapping[str, np.ndarray]) -> list[tuple[str, ...]]:
    """Per row, the names of the bool columns that hold there; equal answers are one object.

    >>> true_columns({"x": np.array([True, False]), "y": np.array([True, True])})
    [('x', 'y'), ('y',)]
    """
    matrix = np.array(list(columns.values())).T
    number, first = factorize_rows(matrix)
    known = [tuple(compress(columns, row)) for row in matrix[first].tolist()]
    return [known[i] for i in number.tolist()]
