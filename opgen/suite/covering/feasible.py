"""Which tuples some complete assignment contains: exact, by witnesses and by refutations.

Tuples of factors that no table ties together are free of each other, so the search is done per
connected component of the tables, on the part of a combination that lies in it. A tuple is feasible
when a solution of its component holds it; batches of solutions settle most. It is infeasible when
propagation or an exhausted search refutes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from opgen.numerics.splitmix import SplitMix
from opgen.suite.covering.model import Model
from opgen.suite.covering.propagate import Domain, Propagator
from opgen.suite.covering.tuples import Tuples

BATCH = 256
"""Tuples that a solution is looked for at a time."""


class Solver:
    """Complete assignments of a model, and the exact feasibility of tuples."""

    def __init__(self, model: Model, random: SplitMix) -> None:
        self.levels = model.levels
        self.random = random
        self.owner = np.repeat(np.arange(len(model.levels)), model.levels)
        self.propagator = Propagator(model.levels, model.tables)
        self.components = components(len(model.levels), [scope for scope, _ in model.tables])
        self.home = {factor: i for i, part in enumerate(self.components) for factor in part}
        self.root = self.propagator.free()
        alive = self.propagator.narrow(self.root, range(len(model.levels)))
        self.satisfiable = bool(alive[0]) and all(
            self.complete(self.root, part) is not None for part in self.components
        )

    def complete(self, domain: Domain, order: Sequence[int]) -> NDArray[np.int64] | None:
        """One assignment of the factors ``order`` inside a propagated domain ``(1, values)``, or
        None.

        Exhaustive: depth first, smallest domain first.
        """
        offsets = self.propagator.offsets
        stack = [domain]
        while stack:
            node = stack.pop()
            sizes = np.add.reduceat(node[0], offsets[:-1], dtype=np.int64)
            open_factors = [factor for factor in order if sizes[factor] > 1]
            if not open_factors:
                return np.array(
                    [node[0, offsets[f] : offsets[f + 1]].argmax() for f in range(len(self.levels))]
                )
            factor = min(open_factors, key=lambda f: (sizes[f], f))
            values = np.flatnonzero(node[0, offsets[factor] : offsets[factor + 1]])
            children = np.repeat(node, len(values), axis=0)
            self.propagator.assign(children, factor, values)
            alive = self.propagator.narrow(children, [factor])
            stack.extend(children[i : i + 1] for i in np.flatnonzero(alive))
        return None

    def feasible(self, combos: Sequence[tuple[int, ...]]) -> tuple[Tuples, NDArray[np.bool_]]:
        """The numbered tuples of ``combos`` and which of them are feasible."""
        parts: dict[int, set[tuple[int, ...]]] = {}
        split = [self._split(combo) for combo in combos]
        for pieces in split:
            for home, part in pieces:
                parts.setdefault(home, set()).add(part)
        known = {home: self._component(home, wanted) for home, wanted in sorted(parts.items())}
        tuples = Tuples(self.levels, combos)
        flags = np.ones(tuples.size, np.bool_)
        for combo, pieces in zip(tuples.combos, split, strict=True):
            block = tuples.block(flags, combo)
            for home, part in pieces:
                block &= known[home][part].reshape(
                    [self.levels[f] if f in part else 1 for f in combo]
                )
        return tuples, flags

    def _split(self, combo: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
        """The parts of a combination that lie in one component each; factors without tables are
        left out.
        """
        homes: dict[int, list[int]] = {}
        for factor in combo:
            if factor in self.home:
                homes.setdefault(self.home[factor], []).append(factor)
        return [(home, tuple(part)) for home, part in homes.items()]

    def _component(
        self, home: int, wanted: Iterable[tuple[int, ...]]
    ) -> dict[tuple[int, ...], NDArray[np.bool_]]:
        """Feasibility of every wanted part of one component, by rising size so that small refutes
        large.
        """
        need = {
            sub
            for part in wanted
            for size in range(1, len(part) + 1)
            for sub in combinations(part, size)
        }
        known: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        pool: list[NDArray[np.int64]] = []
        for size in sorted({len(part) for part in need}):
            tuples = Tuples(self.levels, sorted(part for part in need if len(part) == size))
            possible = np.ones(tuples.size, np.bool_)
            for part in tuples.combos:
                block = tuples.block(possible, part)
                for sub in combinations(part, size - 1) if size > 1 else []:
                    block &= known[sub].reshape([self.levels[f] if f in sub else 1 for f in part])
            for scope, allowed in self._tables_of(home):
                for part in combinations(scope, size):
                    if part in tuples.place:
                        away = tuple(
                            axis for axis, factor in enumerate(scope) if factor not in part
                        )
                        block = tuples.block(possible, part)
                        block &= allowed.any(axis=away)
            self._settle(home, tuples, possible, pool)
            known.update({part: tuples.block(possible, part) for part in tuples.combos})
        return known

    def _tables_of(self, home: int) -> list[tuple[tuple[int, ...], NDArray[np.bool_]]]:
        return [
            (t.scope, t.allowed) for t in self.propagator.tables if self.home[t.scope[0]] == home
        ]

    def _settle(
        self, home: int, tuples: Tuples, possible: NDArray[np.bool_], pool: list[NDArray[np.int64]]
    ) -> None:
        """Turn ``possible`` into feasible: each tuple left gets a solution, or is struck out."""
        open_ = possible.copy()
        for rows in pool:
            tuples.mark(open_, rows, False)
        order = np.array(self.components[home])
        while len(left := np.flatnonzero(open_)):
            picked = left[np.unique(np.linspace(0, len(left) - 1, BATCH).astype(np.int64))]
            domain, alive = self.seeded(tuples, picked)
            possible[picked[~alive]] = open_[picked[~alive]] = False
            picked, domain = picked[alive], domain[alive]
            rows, done = self._dive(domain.copy(), order[self.random.shuffled(len(order))])
            found = [rows[done]]
            for i in np.flatnonzero(~done):
                row = self.complete(domain[i : i + 1], self.components[home])
                if row is None:
                    possible[picked[i]] = False
                else:
                    found.append(row[None, :])
                open_[picked[i]] = False
            pool.append(np.concatenate(found))
            tuples.mark(open_, pool[-1], False)

    def seeded(
        self, tuples: Tuples, numbers: NDArray[np.int64]
    ) -> tuple[Domain, NDArray[np.bool_]]:
        """Propagated domains that hold one tuple each, and which are alive."""
        domain = np.repeat(self.root, len(numbers), axis=0)
        rows, offsets = np.arange(len(numbers)), self.propagator.offsets
        factors, values = tuples.values(numbers)
        for factor, value in zip(factors.T, values.T, strict=True):
            at = offsets[factor] + value
            kept = domain[rows, at]
            domain[self.owner == factor[:, None]] = False
            domain[rows, at] = kept
        return domain, self.propagator.narrow(domain, np.unique(factors).tolist(), self.root)

    def _dive(
        self, domain: Domain, order: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Random values in the given order of factors; returns rows and which of them are
        solutions.
        """
        rows = np.zeros((len(domain), len(self.levels)), np.int64)
        offsets = self.propagator.offsets
        done = np.ones(len(domain), np.bool_)
        for factor in map(int, order):
            block = domain[:, offsets[factor] : offsets[factor + 1]]
            rows[:, factor] = ((self.random.small(*block.shape) + 1) * block).argmax(axis=1)
            if (block.sum(axis=1) > 1).any():
                self.propagator.assign(domain, factor, rows[:, factor])
                done &= self.propagator.narrow(domain, [factor])
        return rows, done


def components(factors: int, scopes: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """The connected components of the factors that tables bind, each ascending."""
    leader = list(range(factors))

    def find(factor: int) -> int:
        while leader[factor] != factor:
            factor = leader[factor]
        return factor

    for scope in scopes:
        for factor in scope[1:]:
            a, b = sorted((find(scope[0]), find(factor)))
            leader[b] = a
    found: dict[int, list[int]] = {}
    for factor in sorted({factor for scope in scopes for factor in scope}):
        found.setdefault(find(factor), []).append(factor)
    return list(found.values())
