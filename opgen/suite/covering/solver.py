"""Complete assignments: one for each partial assignment that has any, and enough of them to hold
every feasible tuple.

Many partial assignments are completed side by side, with random values; where that ends in a
contradiction, a search decides. So what is called infeasible is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from opgen.numerics.splitmix import SplitMix
from opgen.suite.covering.model import Assignments, Model
from opgen.suite.covering.propagate import Domain, Propagator
from opgen.suite.covering.tuples import Tuples

BATCH = 256
"""Tuples that are completed at a time."""


class Solver:
    """Complete assignments of a model, random but the same for the same ``random``."""

    def __init__(self, model: Model, random: SplitMix) -> None:
        self.factors = range(len(model.levels))
        self.random = random
        self.propagator = Propagator(model.levels, model.tables)
        self.root = self.propagator.free(1)
        self.propagator.narrow(self.root, self.factors)

    def completed(self, partial: Assignments) -> tuple[Assignments, NDArray[np.bool_]]:
        """A complete assignment for each partial one ``(n, factors)``, and which of them have
        any.
        """
        domain = np.repeat(self.root, len(partial), axis=0)
        fixed = np.flatnonzero((partial >= 0).any(axis=0)).tolist()
        for factor in fixed:
            self.propagator.assign(domain, factor, partial[:, factor])
        feasible = self.propagator.narrow(domain, fixed)
        rows, solved = self._guessed(domain.copy())
        for i in np.flatnonzero(feasible & ~solved):
            row = self._searched(domain[i : i + 1])
            feasible[i] = row is not None
            if row is not None:
                rows[i] = row
        return rows, feasible

    def witnesses(
        self, tuples: Tuples, progress: Callable[[int], None] = lambda left: None
    ) -> Assignments:
        """Complete assignments ``(n, factors)`` that hold every feasible tuple between them;
        ``progress`` is told how many tuples are left.
        """
        pool = []
        waiting = np.ones(tuples.size, np.bool_)
        while len(left := np.flatnonzero(waiting)):
            spread = left[np.unique(np.linspace(0, len(left) - 1, BATCH).astype(np.int64))]
            rows, feasible = self.completed(tuples.rows(spread))
            pool.append(rows[feasible])
            waiting[spread] = False
            waiting &= ~tuples.held(pool[-1])
            progress(len(left))
        return np.concatenate(pool)

    def _guessed(self, domain: Domain) -> tuple[Assignments, NDArray[np.bool_]]:
        """Random values inside propagated domains, factor by factor in a random order, and which of
        the rows are solutions.
        """
        rows = np.zeros((len(domain), len(self.factors)), np.int64)
        for factor in self.random.shuffled(len(self.factors)).tolist():
            block = self.propagator.block(domain, factor)
            rows[:, factor] = ((self.random.small(*block.shape) + 1) * block).argmax(axis=1)
            self.propagator.assign(domain, factor, rows[:, factor])
            self.propagator.narrow(domain, [factor])
        return rows, self.propagator.alive(domain)

    def _searched(self, domain: Domain) -> Assignments | None:
        """A solution inside a propagated domain ``(1, values)``, or None: depth first, smallest
        domain first.
        """
        stack = [domain]
        while stack:
            node = stack.pop()
            sizes = self.propagator.sizes(node)[0]
            if sizes.max() == 1:
                return np.array([self.propagator.block(node, f).argmax() for f in self.factors])
            factor = int(np.where(sizes > 1, sizes, node.size + 1).argmin())
            values = np.flatnonzero(self.propagator.block(node, factor))
            children = np.repeat(node, len(values), axis=0)
            self.propagator.assign(children, factor, values)
            alive = self.propagator.narrow(children, [factor])
            stack += [children[i : i + 1] for i in np.flatnonzero(alive)]
        return None
