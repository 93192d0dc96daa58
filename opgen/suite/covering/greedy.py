"""Rows, one at a time, each the best of many candidates that climb side by side.

A row covers one tuple of a combination at most, so a combination with many open tuples decides how
many rows there will be. Hence a tuple is worth as much as its combination still has open.
Candidates are known assignments that hold an open tuple; each factor in turn takes its best value
given all others, those first of which most is open.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from opgen.numerics.splitmix import SplitMix
from opgen.suite.covering.model import Assignments
from opgen.suite.covering.propagate import Propagator
from opgen.suite.covering.tuples import Tuples

CANDIDATES = 24
"""Rows that climb side by side, of which the best is taken."""
SWEEPS = 2
"""How often each factor takes its best value."""
SHARPEST = 255
"""Worth of a tuple of the most open combination. Sums of worths stay below 2**24, so float32 adds
them exactly."""


class Greedy:
    """Rows that cover the tuples of ``combos`` that are ``open_``, in an order that leaves little
    to the last rows. ``known`` are complete assignments that hold each of them.
    """

    def __init__(
        self,
        propagator: Propagator,
        tuples: Tuples,
        open_: NDArray[np.bool_],
        known: Assignments,
        random: SplitMix,
    ) -> None:
        self.propagator = propagator
        self.known = known
        self.random = random
        self._keep(tuples, open_)

    def rows(self) -> Iterator[Assignments]:
        """Rows until no tuple is open."""
        while self.waiting.any():
            if 2 * np.count_nonzero(self.waiting) < len(self.waiting):
                self._keep(self.tuples, self.open > 0)
            worth = self.waiting * SHARPEST // self.waiting.max()
            self.worth = np.where(self.waiting > 0, np.maximum(worth, 1), 0).astype(np.float32)
            row = self._best()
            numbers = self.tuples.index(row[None, :])[0]
            self.waiting -= self.open[numbers] > 0
            self.open[numbers] = 0
            yield row

    def _keep(self, tuples: Tuples, open_: NDArray[np.bool_]) -> None:
        """Work on the combinations that still have open tuples, and forget the others."""
        waiting = tuples.per_combo(open_)
        kept = [combo for combo, n in zip(tuples.combos, waiting, strict=True) if n]
        self.tuples = Tuples(self.propagator.levels, kept)
        self.waiting = waiting[waiting > 0]
        self.open = open_[np.repeat(waiting > 0, np.diff(tuples.base))].astype(np.float32)

    def _best(self) -> Assignments:
        """The best of candidates that start from open tuples of the most open combination."""
        combo = self._descending(self.waiting)[0]
        weights = self.tuples.weights
        numbers = (self.known @ weights[combo, :-1] + weights[combo, -1]).astype(np.int64)
        starts = np.flatnonzero(self.open[numbers])
        starts = starts[self.random.shuffled(len(starts))[:CANDIDATES]]
        rows = np.column_stack([self.known[starts], np.ones(len(starts))]).T.copy()
        for _ in range(SWEEPS):
            self._climb(rows)
        total = self.worth @ self.open.take((weights @ rows).astype(np.int64))
        return np.asarray(rows[:-1, total.argmax()].astype(np.int64))

    def _descending(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The order of sizes, the largest first, equal ones at random."""
        return np.argsort(-(sizes << np.int64(16) | self.random.small(len(sizes))), kind="stable")

    def _climb(self, rows: NDArray[np.float64]) -> None:
        """Let each factor in turn take its best value that the tables allow beside all others; in
        place.

        Candidates are columns ``(factors + 1, candidates)`` that end in 1: weights of tuples times
        these are numbers.
        """
        for factor in self._descending(self.tuples.members.T @ self.waiting):
            allowed = self.propagator.beside(rows[:-1].T.astype(np.int64), factor)
            if np.count_nonzero(allowed) > len(allowed):
                rows[factor] = 0
                rows[factor] = (self._gain(rows, factor) * allowed).argmax(axis=1)

    def _gain(self, rows: NDArray[np.float64], factor: int) -> NDArray[np.int64]:
        """What each value of a factor that is 0 in ``rows`` is worth ``(candidates, levels)``."""
        held = np.flatnonzero(self.tuples.members[:, factor] & (self.waiting > 0))
        weights = self.tuples.weights[held]
        steps = weights[:, factor, None] * np.arange(self.propagator.levels[factor])
        numbers = ((weights @ rows)[:, None, :] + steps[:, :, None]).astype(np.int64)
        gain = self.worth[held] @ self.open.take(
            numbers.reshape(len(held), steps.shape[1] * rows.shape[1])
        )
        worth = gain.astype(np.int64).reshape(numbers.shape[1:]).T
        return (worth << np.int64(16) | self.random.small(*worth.shape)) + 1
