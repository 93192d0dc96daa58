"""Every tuple of a list of factor combinations, numbered: a flat array then holds a fact about
each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from opgen.suite.covering.model import Assignments

BLOCK = 1 << 20
"""Rows are looked at in blocks that hold about so many tuples."""


class Tuples:
    """Numbers 0 to ``size - 1`` for the tuples of ``combos``: combination by combination, last
    factor fastest.

    ``members`` ``(combos, factors)`` are the factors of each combination, ``base`` ``(combos +
    1,)`` is where its numbers begin. ``weights`` ``(combos, factors + 1)`` say by how much a number
    grows with the value of each factor, and where it begins.

    >>> pairs = Tuples((2, 3, 2), [(0, 1), (1, 2)])
    >>> pairs.size, pairs.index(np.array([[1, 2, 0]])).tolist()
    (12, [[5, 10]])
    >>> pairs.rows(np.array([5, 10])).tolist()
    [[1, 2, -1], [-1, 2, 0]]
    """

    def __init__(self, levels: Sequence[int], combos: Sequence[tuple[int, ...]]) -> None:
        self.combos = combos
        self.levels = np.array(levels, np.int64)
        self.members = np.zeros((len(combos), len(levels)), np.bool_)
        for member, factors in zip(self.members, combos, strict=True):
            member[list(factors)] = True
        sizes = np.where(self.members, self.levels, 1)
        steps = np.cumprod(sizes[:, ::-1], axis=1)[:, ::-1] // sizes
        self.base = np.concatenate([[0], np.cumsum(sizes.prod(axis=1))])
        self.size = int(self.base[-1])
        self.weights = np.column_stack([np.where(self.members, steps, 0.0), self.base[:-1]])

    def index(self, rows: Assignments) -> NDArray[np.int64]:
        """The tuples of complete rows ``(n, factors)``, as ``(n, combos)``."""
        return np.asarray((rows @ self.weights[:, :-1].T).astype(np.int64) + self.base[:-1])

    def rows(self, numbers: NDArray[np.int64]) -> Assignments:
        """Some tuples as rows ``(n, factors)``, -1 where a factor has no part in it."""
        combo = np.searchsorted(self.base, numbers, side="right") - 1
        steps = np.maximum(self.weights[combo, :-1].astype(np.int64), 1)
        values = (numbers - self.base[combo])[:, None] // steps % self.levels
        return np.where(self.members[combo], values, -1)

    def held(self, rows: Assignments) -> NDArray[np.bool_]:
        """``(size,)``: whether some row holds a tuple, open values (-1) hold none."""
        flags = np.zeros(self.size, np.bool_)
        length = max(1, BLOCK // len(self.members))
        for block in np.split(rows, range(length, len(rows), length)):
            fixed = ~((block < 0).astype(np.float32) @ self.members.T > 0)
            flags[self.index(block)[fixed]] = True
        return flags

    def per_combo(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many flags are set in each combination."""
        return np.asarray(np.add.reduceat(flags, self.base[:-1], dtype=np.int64))
