"""Rows, one at a time, each the best of many candidates that grow side by side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from opgen.covering.feasible import Solver
from opgen.covering.propagate import Domain
from opgen.covering.splitmix import SplitMix
from opgen.covering.tuples import Tuples

CANDIDATES = 32


class Greedy:
    """Rows that cover the open tuples; ``open_`` is a flag per tuple and shrinks as rows are taken."""

    def __init__(self, solver: Solver, tuples: Tuples, open_: NDArray[np.bool_], random: SplitMix) -> None:
        self.solver = solver
        self.tuples = tuples
        self.open = open_.view(np.uint8)
        self.random = random
        self.offsets = solver.propagator.offsets
        self.levels = solver.levels

    def rows(self) -> Iterator[NDArray[np.int64]]:
        """Rows until no tuple is open."""
        while len(left := self._left()):
            row = self._best(left)
            self.open[self.tuples.index(row[None, :])[0]] = 0
            yield row

    def _left(self) -> NDArray[np.int64]:
        self.waiting = self.tuples.per_combo(self.open.view(np.bool_))
        rank = self.waiting << np.int64(16) | self.random.small(len(self.waiting))
        combo = int(rank.argmax()) if len(rank) else 0
        if not len(rank) or not self.waiting[combo]:
            return np.empty(0, np.int64)
        base = self.tuples.base
        return base[combo] + np.flatnonzero(self.open[base[combo] : base[combo + 1]])

    def _best(self, left: NDArray[np.int64]) -> NDArray[np.int64]:
        """The best of candidates that each start from one of the open tuples ``left`` of one combination."""
        seeds = left[self.random.shuffled(len(left))][np.arange(CANDIDATES) % len(left)]
        domain, alive = self.solver.seeded(self.tuples, seeds)
        first = [factor for factor, _ in self.tuples.values(int(seeds[0]))]
        rest = [int(f) for f in self.random.shuffled(len(self.levels)) if int(f) not in first]
        rows, gains = self._grow(domain[alive], first + rest)
        if not len(rows):
            row = self.solver.complete(self.solver.seeded(self.tuples, seeds[:1])[0], range(len(self.levels)))
            assert row is not None, "a feasible tuple has a solution"
            return row
        return rows[int(gains.argmax())]

    def _grow(self, domain: Domain, order: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Candidates completed factor by factor; those that run into a dead end are dropped."""
        tuples = self.tuples
        number = np.repeat(tuples.base[None, :-1], len(domain), axis=0)
        rows = np.zeros((len(domain), len(self.levels)), np.int64)
        fixed = np.zeros(len(tuples.combos), np.int64)
        for factor in order:
            held, steps = tuples.holders[factor], tuples.steps[factor]
            ready = (fixed[held] == tuples.width[held] - 1) & (self.waiting[held] > 0)
            block = domain[:, self.offsets[factor] : self.offsets[factor + 1]]
            values = np.arange(self.levels[factor])
            at = number[:, held[ready], None] + steps[ready][:, None] * values
            gain = self.open[at].sum(axis=1, dtype=np.int64)
            score = (gain << np.int64(16) | self.random.small(*gain.shape)) + 1
            chosen = (score * block).argmax(axis=1)
            rows[:, factor] = chosen
            number[:, held] += chosen[:, None] * steps
            fixed[held] += 1
            if (block.sum(axis=1) > 1).any():
                self.solver.propagator.assign(domain, factor, chosen)
                alive = self.solver.propagator.narrow(domain, [factor])
                if not alive.all():
                    domain, number, rows = domain[alive], number[alive], rows[alive]
        return rows, self.open[number].sum(axis=1, dtype=np.int64)
