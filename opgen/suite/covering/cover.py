"""Covering arrays: feasible tuples, seeds counted first, then rows until all are covered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, islice

import numpy as np

from opgen.numerics.splitmix import SplitMix
from opgen.suite.covering.counter import explain
from opgen.suite.covering.greedy import Greedy
from opgen.suite.covering.model import (
    Assignments,
    Group,
    Model,
    requested,
)
from opgen.suite.covering.solver import Solver
from opgen.suite.covering.tuples import Tuples


def cover(
    model: Model,
    strength: int = 2,
    *,
    groups: Sequence[Group] = (),
    seeds: Assignments | None = None,
    random_state: int = 0,
    budget: int | None = None,
    progress: Callable[[int], None] = lambda left: None,
) -> Assignments:
    """New rows ``(n, factors)`` that, with ``seeds``, contain every feasible ``strength``-tuple of
    values.

    ``groups`` asks for more (or the same) strength among some factors. ``seeds`` ``(n, factors)``
    are rows that exist already, -1 where a value is open: what they fix counts as covered and they
    are not repeated; a seed that no complete assignment contains is ignored. ``budget`` is the most
    new rows; they come best first, so that what a small budget leaves out is little. ``progress``
    is told how many tuples are left, first to find feasible and then to cover. The same arguments
    give the same rows everywhere.

    ``ValueError``: no assignment satisfies the tables.

    >>> len(cover(Model((2, 3))))
    6
    """
    given = np.zeros((0, len(model.levels)), np.int64) if seeds is None else seeds
    solver = Solver(model, SplitMix(random_state))
    if not solver.completed(np.full((1, len(model.levels)), -1))[1].all():
        tables = ", ".join(map(str, explain(model, ())))
        raise ValueError(
            f"no assignment satisfies the tables; these contradict each other: {tables}"
        )
    usable = given[solver.completed(given)[1]]
    asked = requested(model, strength, groups)
    tuples = Tuples(
        model.levels, largest([combo for group in asked for combo in combinations(*group)])
    )
    known = solver.witnesses(tuples, progress)
    open_ = tuples.held(known) & ~tuples.held(usable)
    greedy = Greedy(solver.propagator, tuples, open_, known, SplitMix(random_state + 1))
    rows = []
    for row in islice(greedy.rows(), budget):
        rows.append(row)
        progress(int(greedy.waiting.sum()))
    return np.array(rows, np.int64).reshape(-1, len(model.levels))


def largest(wanted: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The combinations that no other contains: whoever covers these covers all."""
    unique = set(wanted)
    inside = {
        sub
        for combo in unique
        for size in range(1, len(combo))
        for sub in combinations(combo, size)
    }
    return sorted(unique - inside)
