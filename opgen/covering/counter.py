"""The independent counter: what rows cover, counted by brute force, with an exact feasibility of its own.

Shares nothing with the makers of rows but the nouns. Rows are compared with the tables cell by cell, tuples are
marked in an array. A tuple that a lawful row holds is feasible; for the others the tables are joined and the
remaining factors eliminated one by one (bucket elimination; Dechter 1999), split by cases where a join is large.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from opgen.covering.model import Group, Model, Table, Tally, Tuple, checked_rows, requested

CELLS = 1 << 22
"""A join with more cells than this is split by cases."""


def count(
    model: Model,
    rows: NDArray[np.int64],
    strength: int = 2,
    groups: Sequence[Group] = (),
    *,
    listed: bool = False,
) -> tuple[Tally, ...]:
    """The tallies of ``rows`` ``(n, factors)``, -1 where a value is open: of all factors, then of each group.

    A row that breaks a table counts for nothing. ``listed`` also lists the missing and the impossible tuples.

    >>> ternary = Model((3, 3, 3))
    >>> count(ternary, np.array([[0, 0, 0], [0, 1, 2]]))[0].totals()
    (6, 27, 0)
    """
    checked = checked_rows(model, rows, -1)
    eliminate = _Elimination(model)
    good = np.array([eliminate.lawful(row) for row in checked], bool)
    return tuple(
        _tally(model, checked[good], eliminate, *group, listed) for group in requested(model, strength, groups)
    )


def explain(model: Model, values: Tuple) -> tuple[int, ...]:
    """The numbers of tables that together rule a tuple out, none to spare; empty when it is feasible.

    One table where one suffices; else a set from which no table can be left out.

    >>> clash = np.array([[True, False], [False, True]])
    >>> explain(Model((2, 2, 2), (((0, 1), clash), ((1, 2), clash))), ((0, 0), (2, 1)))
    (0, 1)
    """
    fixed = dict(values)

    def possible(chosen: Sequence[int]) -> bool:
        return bool(project(model.levels, [_slice(model.tables[i], fixed) for i in chosen], ()).all())

    every = list(range(len(model.tables)))
    if possible(every):
        return ()
    for one in every:
        if not possible([one]):
            return (one,)
    for left_out in every[::-1]:
        fewer = [i for i in every if i != left_out]
        if not possible(fewer):
            every = fewer
    return tuple(every)


def project(levels: Sequence[int], tables: Sequence[Table], keep: tuple[int, ...]) -> NDArray[np.bool_]:
    """What the conjunction of the tables allows of the factors ``keep``, exactly, as an array over their levels."""
    pool = [(tuple(scope), allowed) for scope, allowed in tables]
    while True:
        buckets: dict[int, set[int]] = {}
        for scope, _ in pool:
            for factor in scope:
                if factor not in keep:
                    buckets.setdefault(factor, set()).update(scope)
        sizes = {f: _cells(levels, together) for f, together in buckets.items()}
        target = min(sizes, key=lambda f: (sizes[f], f), default=None)
        scope = tuple(sorted(buckets[target])) if target is not None else keep
        if _cells(levels, scope) > CELLS:
            return _by_cases(levels, pool, keep, scope)
        if target is None:
            return np.broadcast_to(_join(pool, keep), [levels[f] for f in keep])
        inside = [table for table in pool if target in table[0]]
        rest = tuple(factor for factor in scope if factor != target)
        small = np.asarray(_join(inside, scope).any(axis=scope.index(target)))
        pool = [table for table in pool if target not in table[0]] + [(rest, small)]


def _by_cases(
    levels: Sequence[int], tables: Sequence[Table], keep: tuple[int, ...], scope: tuple[int, ...]
) -> NDArray[np.bool_]:
    """The projection value by value of the factor that most tables bind."""
    weight = {f: sum(f in table[0] for table in tables) for f in scope if levels[f] > 1}
    split = max(weight, key=lambda f: (weight[f], levels[f], -f))
    result = np.zeros([levels[f] for f in keep], np.bool_)
    shrunk = tuple(1 if f == split else n for f, n in enumerate(levels))
    for value in range(levels[split]):
        case = project(shrunk, [_slice(table, {split: value}, drop=False) for table in tables], keep)
        if split in keep:
            result[(slice(None),) * keep.index(split) + (slice(value, value + 1),)] = case
        else:
            result |= case
    return result


def _cells(levels: Sequence[int], scope: Sequence[int] | set[int]) -> int:
    cells = 1
    for factor in scope:
        cells *= levels[factor]
    return cells


def _join(tables: Sequence[Table], scope: tuple[int, ...]) -> NDArray[np.bool_]:
    """The conjunction of tables as an array with an axis for each factor of ``scope``, of length 1 if unbound."""
    result = np.ones((1,) * len(scope), np.bool_)
    for bound, allowed in tables:
        order = sorted(range(len(bound)), key=lambda axis: bound[axis])
        extent = {bound[axis]: allowed.shape[axis] for axis in order}
        result = result & allowed.transpose(order).reshape([extent.get(f, 1) for f in scope])
    return result


def _slice(table: Table, fixed: dict[int, int], drop: bool = True) -> Table:
    """A table with some factors held at a value; their axes are dropped, or kept with length 1."""
    scope, allowed = table
    where = tuple((fixed[f] if drop else slice(fixed[f], fixed[f] + 1)) if f in fixed else slice(None) for f in scope)
    return tuple(f for f in scope if not (drop and f in fixed)), np.asarray(allowed[where])


class _Elimination:
    """Feasibility of the tuples of one combination at a time, remembered per connected part of the model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.known: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        self.part: dict[int, int] = {}
        for factor in range(len(model.levels)):
            if factor not in self.part:
                reached = {factor}
                while grown := {f for scope, _ in model.tables if reached & set(scope) for f in scope} - reached:
                    reached |= grown
                self.part.update(dict.fromkeys(reached, factor))

    def lawful(self, row: NDArray[np.int64]) -> bool:
        """Whether a row, as far as it is fixed, breaks no table and can be completed."""
        fixed = {f: int(v) for f, v in enumerate(row) if v >= 0}
        sliced = [_slice(table, fixed) for table in self.model.tables]
        if not all(allowed.any() for _, allowed in sliced):
            return False
        return len(fixed) == len(row) or bool(project(self.model.levels, sliced, ()).all())

    def feasible(self, combo: tuple[int, ...]) -> NDArray[np.bool_]:
        """A bool array over the levels of ``combo``."""
        result = np.ones([self.model.levels[f] for f in combo], np.bool_)
        for part in sorted({self.part[f] for f in combo}):
            inside = tuple(f for f in combo if self.part[f] == part)
            if inside not in self.known:
                tables = [table for table in self.model.tables if self.part[table[0][0]] == part]
                self.known[inside] = project(self.model.levels, tables, inside)
            result &= self.known[inside].reshape([self.model.levels[f] if f in inside else 1 for f in combo])
        return result


def _tally(
    model: Model,
    rows: NDArray[np.int64],
    eliminate: _Elimination,
    factors: tuple[int, ...],
    strength: int,
    listed: bool,
) -> Tally:
    chosen = list(combinations(factors, strength))
    numbers = []
    missing: list[Tuple] = []
    impossible: list[Tuple] = []
    for combo in chosen:
        shape = [model.levels[f] for f in combo]
        values = rows[:, combo]
        seen = np.zeros(shape, np.bool_)
        seen[tuple(values[(values >= 0).all(axis=1)].T)] = True
        feasible = seen if seen.all() else eliminate.feasible(combo)
        numbers.append((int(seen.sum()), int(feasible.sum()), int((~feasible).sum())))
        if listed:
            missing += [tuple(zip(combo, v, strict=True)) for v in np.argwhere(feasible & ~seen).tolist()]
            impossible += [tuple(zip(combo, v, strict=True)) for v in np.argwhere(~feasible).tolist()]
    covered, possible, refuted = np.array(numbers, np.int64).T
    return Tally(
        factors,
        strength,
        np.array(chosen, np.int64),
        covered,
        possible,
        refuted,
        missing if listed else None,
        impossible if listed else None,
    )
