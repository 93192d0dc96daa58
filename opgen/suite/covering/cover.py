"""Covering arrays: feasible tuples, seeds counted first, then rows until all are covered."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from opgen.numerics.splitmix import SplitMix
from opgen.suite.covering.counter import explain
from opgen.suite.covering.feasible import Solver
from opgen.suite.covering.greedy import Greedy
from opgen.suite.covering.model import Cover, Group, Model, Tally, checked_rows, combos, requested
from opgen.suite.covering.tuples import Tuples


def cover(
    model: Model,
    strength: int = 2,
    *,
    groups: Sequence[Group] = (),
    seeds: NDArray[np.int64] | None = None,
    random_state: int = 0,
    budget: int | None = None,
) -> Cover:
    """Rows that, with ``seeds``, contain every feasible ``strength``-tuple of values.

    ``groups`` asks for more (or the same) strength among some factors. ``seeds`` ``(n, factors)``
    are rows that exist already, -1 where a value is open: what they fix counts as covered and they
    are not repeated; a seed that no complete assignment contains is ignored, and named in the
    result. ``budget`` is the most new rows; they come best first, so that what a small budget
    leaves out is little. The same arguments give the same rows everywhere.

    ``ValueError``: no assignment satisfies the tables; a strength, group or seed that does not fit
    the model.
    """
    asked = list(requested(model, strength, groups))
    known = checked_rows(model, seeds if seeds is not None else ())
    solver = Solver(model, SplitMix(random_state))
    if not solver.satisfiable:
        tables = ", ".join(map(str, explain(model, ())))
        raise ValueError(
            f"no assignment satisfies the tables; these contradict each other: {tables}"
        )
    tuples, feasible = solver.feasible(
        largest([combo for group in asked for combo in combos(*group)])
    )
    usable = _usable(model, solver, known)
    complete = (known >= 0).all(axis=1)
    whole, partial = known[usable & complete], known[usable & ~complete]
    covered = ~feasible
    tuples.mark(covered, whole, True)
    for seed in partial:
        _mark(tuples, covered, seed)
    greedy = Greedy(solver, tuples, ~covered, SplitMix(random_state + 1))
    rows = list(islice(greedy.rows(), budget))
    made = np.array(rows, np.int64).reshape(-1, len(model.levels))
    tallies = tuple(
        _tally(tuples, feasible, solver, group, np.concatenate([whole, made]), partial)
        for group in asked
    )
    return Cover(made, tallies, tuple(map(int, np.flatnonzero(~usable))))


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


def _usable(model: Model, solver: Solver, seeds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which seeds some complete assignment contains."""
    usable = np.ones(len(seeds), np.bool_)
    complete = (seeds >= 0).all(axis=1)
    for scope, allowed in model.tables:
        usable[complete] &= allowed[tuple(seeds[complete][:, f] for f in scope)]
    for i in np.flatnonzero(~complete):
        usable[i] = _extends(solver, seeds[i])
    return usable


def _extends(solver: Solver, seed: NDArray[np.int64]) -> bool:
    """Whether some complete assignment contains a seed."""
    domain = solver.root.copy()
    fixed = [int(f) for f in np.flatnonzero(seed >= 0)]
    for factor in fixed:
        solver.propagator.assign(domain, factor, seed[factor : factor + 1])
    offsets = solver.propagator.offsets
    alive = (
        all(domain[0, offsets[f] + seed[f]] for f in fixed)
        and solver.propagator.narrow(domain, fixed)[0]
    )
    return bool(alive) and solver.complete(domain, range(len(solver.levels))) is not None


def _mark(tuples: Tuples, covered: NDArray[np.bool_], seed: NDArray[np.int64]) -> None:
    """Set the flags of the tuples that a seed fixes."""
    numbers = tuples.index(np.maximum(seed, 0)[None, :])[0]
    fixed = np.ones(len(tuples.combos), np.bool_)
    for factor in np.flatnonzero(seed < 0):
        fixed[tuples.holders[factor]] = False
    covered[numbers[fixed]] = True


def _tally(
    top: Tuples,
    feasible: NDArray[np.bool_],
    solver: Solver,
    group: tuple[tuple[int, ...], int],
    whole: NDArray[np.int64],
    partial: NDArray[np.int64],
) -> Tally:
    """The tally of one group, its feasibility projected from the combinations that were covered."""
    tuples = Tuples(solver.levels, combos(*group))
    possible = np.ones(tuples.size, np.bool_)
    above: dict[tuple[int, ...], tuple[int, ...]] = {}
    for combo in top.combos:
        for sub in combinations(combo, group[1]):
            above.setdefault(sub, combo)
    for combo in tuples.combos:
        over = above[combo]
        away = tuple(axis for axis, factor in enumerate(over) if factor not in combo)
        tuples.block(possible, combo)[...] = top.block(feasible, over).any(axis=away)
    covered = np.zeros(tuples.size, np.bool_)
    tuples.mark(covered, whole, True)
    for seed in partial:
        _mark(tuples, covered, seed)
    return Tally(
        group[0],
        group[1],
        np.array(tuples.combos, np.int64),
        tuples.per_combo(covered & possible),
        tuples.per_combo(possible),
        tuples.per_combo(~possible),
    )
