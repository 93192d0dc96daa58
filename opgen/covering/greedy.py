"""Rows, one at a time, each the best of many candidates that grow side by side.

A row covers one tuple of a combination at most, so a combination with many open tuples decides how many rows there
will be. Hence a tuple is worth as much as its combination still has open, and factors are set in the order of what
they hold open. Grown candidates then climb: each factor in turn takes its best value given all others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from opgen.covering.feasible import Solver
from opgen.covering.propagate import Domain
from opgen.covering.splitmix import SplitMix
from opgen.covering.tuples import Tuples

CANDIDATES = 24
SHARPEST = 255
"""Worth of a tuple of the most open combination. Sums of worths stay below 2**24, so float32 adds them exactly."""

Numbers = NDArray[np.int64]


class Greedy:
    """Rows that cover the ``open_`` tuples, in an order that leaves little to the last rows."""

    def __init__(self, solver: Solver, tuples: Tuples, open_: NDArray[np.bool_], random: SplitMix) -> None:
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
        rows, numbers = self._grow(domain[alive], [*first, *(int(f) for f in order if f not in first)])
        if not len(rows):
            row = self.solver.complete(self.solver.seeded(self.tuples, starts[:1])[0], range(len(self.levels)))
            assert row is not None, "a feasible tuple has a solution"
            rows = row[None, :]
            numbers = self.tuples.index(rows).T.copy()
        self._climb(rows, numbers)
        total: Numbers = (self.worth[:, None] * self.open[numbers]).sum(axis=0, dtype=np.float64)
        best: Numbers = rows[int(total.argmax())]
        return best

    def _gain(self, held: Numbers, steps: Numbers, numbers: Numbers, factor: int) -> Numbers:
        """What each value of a factor is worth ``(candidates, levels)``, given tuple numbers without that factor."""
        values = np.arange(self.levels[factor])
        at = numbers[:, :, None] + steps[:, None, None] * values
        gain = self.worth[held] @ self.open.take(at).reshape(len(held), at.shape[1] * at.shape[2])
        worth = gain.astype(np.int64).reshape(at.shape[1:])
        ranked: Numbers = (worth << np.int64(16) | self.random.small(*worth.shape)) + 1
        return ranked

    def _grow(self, domain: Domain, order: list[int]) -> tuple[Numbers, Numbers]:
        """Candidates completed factor by factor; those that run into a dead end are dropped.

        Returns rows and the numbers of their tuples, ``(combos, candidates)``.
        """
        tuples = self.tuples
        numbers = np.repeat(tuples.base[:-1, None], len(domain), axis=1)
        rows = np.zeros((len(domain), len(self.levels)), np.int64)
        fixed = np.zeros(len(tuples.combos), np.int64)
        for factor in order:
            held, steps = tuples.holders[factor], tuples.steps[factor]
            ready = (fixed[held] == tuples.width[held] - 1) & (self.waiting[held] > 0)
            block = domain[:, self.offsets[factor] : self.offsets[factor + 1]]
            ranked = self._gain(held[ready], steps[ready], numbers[held[ready]], factor)
            chosen = (ranked * block).argmax(axis=1)
            rows[:, factor] = chosen
            numbers[held] += steps[:, None] * chosen
            fixed[held] += 1
            if (block.sum(axis=1) > 1).any():
                self.solver.propagator.assign(domain, factor, chosen)
                alive = self.solver.propagator.narrow(domain, [factor])
                if not alive.all():
                    domain, numbers, rows = domain[alive], numbers[:, alive], rows[alive]
        return rows, numbers

    def _climb(self, rows: Numbers, numbers: Numbers) -> None:
        """Let each factor in turn take its best value that the tables allow beside all others; in place."""
        for factor in map(int, self.random.shuffled(len(self.levels))):
            held, steps = self.tuples.holders[factor], self.tuples.steps[factor]
            allowed = self.solver.propagator.beside(rows, factor)
            if not len(held) or not (allowed.sum(axis=1) > 1).any():
                continue
            useful = self.waiting[held] > 0
            without = numbers[held[useful]] - steps[useful][:, None] * rows[:, factor]
            ranked = self._gain(held[useful], steps[useful], without, factor)
            chosen = (ranked * allowed).argmax(axis=1)
            numbers[held] += steps[:, None] * (chosen - rows[:, factor])
            rows[:, factor] = chosen
