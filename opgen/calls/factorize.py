"""Factorizing: equal things get one number, equal answers are one object."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import compress

import numpy as np


def factorize(keys: Iterable[Hashable]) -> tuple[np.ndarray, np.ndarray]:
    """(the number of each key, where each number first stands); equal keys have one number, in the
    order of the first.

    >>> factorize("abba")
    (array([0, 1, 1, 0]), array([0, 1]))
    """
    seen: dict[Hashable, int] = {}
    number = np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.intp)
    first = np.empty(len(seen), dtype=np.intp)
    first[number[::-1]] = np.arange(len(number))[::-1]  # the last that is written stays
    return number, first


def factorize_rows(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of the rows of a matrix.

    >>> factorize_rows(np.array([[1, 2], [3, 4], [1, 2]]))
    (array([0, 1, 0]), array([0, 1]))
    """
    if not matrix.size or (matrix == matrix[0]).all():
        return np.zeros(len(matrix), dtype=np.intp), np.zeros(min(len(matrix), 1), dtype=np.intp)
    text, width = matrix.tobytes(), matrix.shape[1] * matrix.itemsize
    return factorize(text[at : at + width] for at in range(0, len(text), width))


def true_columns(columns: Mapping[str, np.ndarray]) -> list[tuple[str, ...]]:
    """Per row, the names of the bool columns that hold there; equal answers are one object.

    >>> true_columns({"x": np.array([True, False]), "y": np.array([True, True])})
    [('x', 'y'), ('y',)]
    """
    matrix = np.array(list(columns.values())).T
    number, first = factorize_rows(matrix)
    known = [tuple(compress(columns, row)) for row in matrix[first].tolist()]
    return [known[i] for i in number.tolist()]
