"""Every tuple of a list of factor combinations, numbered: a flat array then holds a fact about each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from opgen.covering.model import Tuple


class Tuples:
    """Numbers 0 to ``size - 1`` for the tuples of ``combos``: combination by combination, last factor fastest."""

    def __init__(self, levels: Sequence[int], combos: Sequence[tuple[int, ...]]) -> None:
        self.combos = list(combos)
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
        self.member = np.zeros((len(levels), len(self.combos)), np.int64)
        for factor, combos_of in enumerate(self.holders):
            self.member[factor, combos_of] = 1
        self.width = np.array([len(combo) for combo in self.combos], np.int64)

    def index(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The tuples of complete rows ``(n, factors)``, as ``(n, combos)``."""
        found = np.repeat(self.base[None, :-1], len(rows), axis=0)
        for factor, (held, steps) in enumerate(zip(self.holders, self.steps, strict=True)):
            if len(held):
                found[:, held] += rows[:, factor, None] * steps
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

    def values(self, number: int) -> Tuple:
        """The tuple of a number."""
        i = int(np.searchsorted(self.base, number, side="right")) - 1
        found = np.unravel_index(number - int(self.base[i]), self.shapes[i])
        return tuple(zip(self.combos[i], map(int, found), strict=True))

    def per_combo(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many flags are set in each combination."""
        sums = np.concatenate([[0], np.cumsum(flags, dtype=np.int64)])
        found: NDArray[np.int64] = sums[self.base[1:]] - sums[self.base[:-1]]
        return found
