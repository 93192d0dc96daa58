"""Every tuple of a list of factor combinations, numbered: a flat array then holds a fact about
each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Tuples:
    """Numbers 0 to ``size - 1`` for the tuples of ``combos``: combination by combination, last
    factor fastest.

    ``weights`` ``(combos, factors + 1)`` says by how much a number grows with the value of each
    factor, and where it begins.
    """

    def __init__(self, levels: Sequence[int], combos: Sequence[tuple[int, ...]]) -> None:
        self.combos = list(combos)
        self.levels = np.array(levels, np.int64)
        widest = max(map(len, self.combos), default=0)
        self.padded = np.array(
            [(*combo, *combo[:1] * (widest - len(combo))) for combo in self.combos], np.int64
        )
        self.shapes = [tuple(levels[f] for f in combo) for combo in self.combos]
        self.counts = np.array([int(np.prod(shape)) for shape in self.shapes], np.int64)
        self.base = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        self.size = int(self.base[-1])
        self.place = {combo: i for i, combo in enumerate(self.combos)}
        holders: list[list[tuple[int, int]]] = [[] for _ in levels]
        for i, (combo, shape) in enumerate(zip(self.combos, self.shapes, strict=True)):
            step = 1
            for factor, n in zip(reversed(combo), reversed(shape), strict=True):
                holders[factor].append((i, step))
                step *= n
        self.holders = [np.array([i for i, _ in held], np.int64) for held in holders]
        self.steps = [np.array([step for _, step in held], np.int64) for held in holders]
        self.weights = np.zeros((len(self.combos), len(levels) + 1))
        self.weights[:, -1] = self.base[:-1]
        for factor, combos_of in enumerate(self.holders):
            self.weights[combos_of, factor] = self.steps[factor]
        self.member = (self.weights[:, :-1] > 0).T.astype(np.int64)

    def index(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The tuples of complete rows ``(n, factors)``, as ``(n, combos)``."""
        return (rows @ self.weights[:, :-1].T).astype(np.int64) + self.base[:-1]

    def last(self, order: Sequence[int]) -> NDArray[np.int64]:
        """The factor of each combination that comes last in an order of all factors."""
        found: NDArray[np.int64] = np.array(order[::-1])[self.member[order[::-1]].argmax(axis=0)]
        return found

    def mark(self, flags: NDArray[np.bool_], rows: NDArray[np.int64], value: bool) -> None:
        """Set the flags of all tuples of complete rows, in blocks that keep scratch small."""
        block = max(1, (1 << 20) // max(1, len(self.combos)))
        for first in range(0, len(rows), block):
            flags[self.index(rows[first : first + block]).ravel()] = value

    def block(self, flags: NDArray[np.bool_], combo: tuple[int, ...]) -> NDArray[np.bool_]:
        """The flags of one combination, a view with an axis per factor."""
        i = self.place[combo]
        return flags[self.base[i] : self.base[i + 1]].reshape(self.shapes[i])

    def values(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The factors of some tuples and their values, ``(n, widest)`` both; a small tuple says its
        first one again.
        """
        at = np.searchsorted(self.base, numbers, side="right") - 1
        factors = self.padded[at]
        steps = self.weights[at[:, None], factors].astype(np.int64)
        return factors, (numbers - self.base[at])[:, None] // steps % self.levels[factors]

    def per_combo(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many flags are set in each combination."""
        sums = np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])
        found: NDArray[np.int64] = sums[self.base[1:]] - sums[self.base[:-1]]
        return found
