"""Rows, one at a time, each the best of many candidates that grow side by side.

A row covers one tuple of a combination at most, so a combination with many open tuples decides how
many rows there will be. Hence a tuple is worth as much as its combination still has open, and
factors are set in the order of what they hold open. Grown candidates then climb: each factor in
turn takes its best value given all others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from opgen.numerics.splitmix import SplitMix
from opgen.suite.covering.feasible import Solver
from opgen.suite.covering.propagate import Domain
from opgen.suite.covering.tuples import Tuples

CANDIDATES = 24
"""Rows that grow side by side, of which the best is taken."""
SHARPEST = 255
"""Worth of a tuple of the most open combination. Sums of worths stay below 2**24, so float32 adds
them exactly."""

Numbers = NDArray[np.int64]
Assigned = NDArray[np.float64]
"""Candidates as columns ``(factors + 1, candidates)`` of whole numbers that end in 1: weights of
tuples times these are numbers."""


class Greedy:
    """Rows that cover the ``open_`` tuples, in an order that leaves little to the last rows."""

    def __init__(
        self, solver: Solver, tuples: Tuples, open_: NDArray[np.bool_], random: SplitMix
    ) -> None:
        self.solver = solver
        self.random = random
        self.levels = solver.levels
        self.offsets = solver.propagator.offsets
        self._keep(tuples, open_)

    def rows(self) -> Iterator[Numbers]:
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
        self.tuples = Tuples(self.levels, kept)
        self.waiting = waiting[waiting > 0]
        self.open = open_[np.repeat(waiting > 0, tuples.counts)].astype(np.float32)

    def _best(self) -> Numbers:
        """The best of candidates that start from open tuples of the most open combination."""
        base = self.tuples.base
        combo = int((self.waiting << np.int64(16) | self.random.small(len(self.waiting))).argmax())
        left = base[combo] + np.flatnonzero(self.open[base[combo] : base[combo + 1]])
        n = min(CANDIDATES, 3 + int(np.count_nonzero(self.waiting)))
        starts = left[self.random.shuffled(len(left))][np.arange(n) % len(left)]
        domain, alive = self.solver.seeded(self.tuples, starts)
        held = self.tuples.member @ self.waiting
        order = np.argsort(-(held << np.int64(16) | self.random.small(len(held))), kind="stable")
        first = self.tuples.combos[combo]
        rows = self._grow(domain[alive], [*first, *(int(f) for f in order if f not in first)])
        if not rows.shape[1]:
            row = self.solver.complete(
                self.solver.seeded(self.tuples, starts[:1])[0], range(len(self.levels))
            )
            assert row is not None, "a feasible tuple has a solution"
            rows = np.append(row, 1.0)[:, None]
        self._climb(rows)
        total = self.worth @ self.open.take((self.tuples.weights @ rows).astype(np.int64))
        best: Numbers = rows[:-1, int(total.argmax())].astype(np.int64)
        return best

    def _gain(self, held: Numbers, rows: Assigned, factor: int) -> Numbers:
        """What each value of a factor that is 0 in ``rows`` is worth ``(candidates, levels)``, in
        the combinations ``held``.
        """
        weights = self.tuples.weights[held]
        steps = weights[:, factor, None] * np.arange(self.levels[factor])
        at = (weights @ rows)[:, None, :] + steps[:, :, None]
        gain = self.worth[held] @ self.open.take(at.astype(np.int64)).reshape(
            len(held), at.shape[1] * at.shape[2]
        )
        worth = gain.astype(np.int64).reshape(at.shape[1:]).T
        ranked: Numbers = (worth << np.int64(16) | self.random.small(*worth.shape)) + 1
        return ranked

    def _grow(self, domain: Domain, order: list[int]) -> Assigned:
        """Candidates completed factor by factor; those that run into a dead end are dropped.

        A combination counts where its last factor is set.
        """
        rows = np.zeros((len(self.levels) + 1, len(domain)))
        rows[-1] = 1
        last = np.where(self.waiting > 0, self.tuples.last(order), -1)
        for factor in order:
            block = domain[:, self.offsets[factor] : self.offsets[factor + 1]]
            chosen = (self._gain(np.flatnonzero(last == factor), rows, factor) * block).argmax(
                axis=1
            )
            rows[factor] = chosen
            if np.count_nonzero(block) > len(block):
                self.solver.propagator.assign(domain, factor, chosen)
                alive = self.solver.propagator.narrow(domain, [factor])
                if not alive.all():
                    domain, rows = domain[alive], rows[:, alive]
        return rows

    def _climb(self, rows: Assigned) -> None:
        """Let each factor in turn take its best value that the tables allow beside all others; in
        place.
        """
        whole = rows[:-1].astype(np.int64)
        for factor in map(int, self.random.shuffled(len(self.levels))):
            allowed = self.solver.propagator.beside(whole.T, factor)
            held = self.tuples.holders[factor]
            if len(held) and np.count_nonzero(allowed) > len(allowed):
                rows[factor] = 0
                rows[factor] = whole[factor] = (
                    self._gain(held[self.waiting[held] > 0], rows, factor) * allowed
                ).argmax(axis=1)
