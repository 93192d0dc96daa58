"""The independent counter: what rows cover, counted by brute force, with an exact feasibility of
its own.

Shares nothing with the makers of rows but the nouns. Rows are compared with the tables cell by
cell, tuples are marked in an array. A tuple that a lawful row holds is feasible; for the others the
tables are joined and the remaining factors eliminated one by one (bucket elimination), and where
that would need large joins, the values of a factor are tried in turn (cutset conditioning; Dechter
1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from opgen.suite.covering.model import (
    Assignments,
    Group,
    Model,
    Table,
    Tally,
    Tuple,
    requested,
)

CELLS = 1 << 20
"""A join with more cells than this is not made; the values of a factor are tried instead."""


def count(
    model: Model,
    rows: Assignments,
    strength: int = 2,
    groups: Sequence[Group] = (),
    *,
    cells: int = CELLS,
) -> tuple[Tally, ...]:
    """The tallies of ``rows`` ``(n, factors)``, -1 where a value is open: of all factors, then of
    each group.

    A row that breaks a table counts for nothing. ``cells`` is the size of the largest join of
    tables that is made.

    >>> ternary = Model((3, 3, 3))
    >>> count(ternary, np.array([[0, 0, 0], [0, 1, 2]]))[0].totals()
    (6, 27, 0)
    """
    lawful = np.array([_extends(model, row, cells) for row in rows], bool)
    return tuple(
        _tally(model, rows[lawful], *group, cells) for group in requested(model, strength, groups)
    )


def explain(model: Model, values: Tuple) -> tuple[int, ...]:
    """The numbers of tables that together rule a tuple out, none to spare; empty when it is
    feasible.

    One table where one suffices; else a set from which no table can be left out.

    >>> clash = np.array([[True, False], [False, True]])
    >>> explain(Model((2, 2, 2), (((0, 1), clash), ((1, 2), clash))), ((0, 0), (2, 1)))
    (0, 1)
    """
    fixed = dict(values)

    def possible(chosen: Sequence[int]) -> bool:
        return satisfiable(model.levels, [_slice(model.tables[i], fixed) for i in chosen])

    blamed = list(range(len(model.tables)))
    if possible(blamed):
        return ()
    for table in blamed:
        if not possible([table]):
            return (table,)
    for table in blamed[::-1]:
        fewer = [other for other in blamed if other != table]
        if not possible(fewer):
            blamed = fewer
    return tuple(blamed)


def project(
    levels: Sequence[int], tables: Sequence[Table], keep: tuple[int, ...], cells: int = CELLS
) -> NDArray[np.bool_]:
    """What the conjunction of the tables allows of the factors ``keep``, with an axis for each, of
    length 1 where nothing is said of it.
    """
    pool = list(tables)
    while inside := {f for scope, _ in pool for f in scope}.difference(keep):
        joins = {f: sorted({g for scope, _ in pool if f in scope for g in scope}) for f in inside}
        sizes = {f: prod(levels[g] for g in scope) for f, scope in joins.items()}
        target = min(inside, key=lambda f: (sizes[f], f))
        if sizes[target] > cells:
            tried = [
                project(levels, [_slice(table, {target: value}) for table in pool], keep, cells)
                for value in range(levels[target])
            ]
            return np.asarray(np.any(tried, axis=0))
        scope = joins[target]
        joined = _join([table for table in pool if target in table[0]], scope)
        rest = tuple(f for f in scope if f != target)
        pool = [table for table in pool if target not in table[0]]
        pool.append((rest, np.asarray(joined.any(axis=scope.index(target)))))
    return _join(pool, keep)


def satisfiable(levels: Sequence[int], tables: Sequence[Table], cells: int = CELLS) -> bool:
    """Whether an assignment satisfies all tables."""
    return bool(project(levels, tables, (), cells))


def _join(tables: Sequence[Table], scope: Sequence[int]) -> NDArray[np.bool_]:
    """The conjunction of tables as an array with an axis for each factor of ``scope``, of length 1
    if unbound.
    """
    result = np.ones((1,) * len(scope), np.bool_)
    for bound, allowed in tables:
        order = sorted(range(len(bound)), key=lambda axis: bound[axis])
        extent = {bound[axis]: allowed.shape[axis] for axis in order}
        result = result & allowed.transpose(order).reshape([extent.get(f, 1) for f in scope])
    return result


def _slice(table: Table, fixed: dict[int, int]) -> Table:
    """A table with some factors held at a value, without their axes."""
    scope, allowed = table
    if not fixed.keys() & set(scope):
        return table
    return tuple(f for f in scope if f not in fixed), np.asarray(
        allowed[tuple(fixed.get(f, slice(None)) for f in scope)]
    )


def _extends(model: Model, row: NDArray[np.int64], cells: int) -> bool:
    """Whether a row, as far as it is fixed, breaks no table and can be completed."""
    fixed = {f: int(v) for f, v in enumerate(row) if v >= 0}
    return satisfiable(model.levels, [_slice(table, fixed) for table in model.tables], cells)


def _tally(
    model: Model,
    rows: Assignments,
    factors: tuple[int, ...],
    strength: int,
    cells: int,
) -> Tally:
    chosen = list(combinations(factors, strength))
    bound = {factor for scope, _ in model.tables for factor in scope}
    allowed: dict[tuple[int, ...], NDArray[np.bool_]] = {}
    numbers = []
    missing: list[Tuple] = []
    impossible: list[Tuple] = []
    for combo in chosen:
        shape = [model.levels[f] for f in combo]
        values = rows[:, combo]
        seen = np.zeros(shape, np.bool_)
        seen[tuple(values[(values >= 0).all(axis=1)].T)] = True
        feasible = seen
        if not seen.all():
            tied = tuple(factor for factor in combo if factor in bound)
            free = [axis for axis, factor in enumerate(combo) if factor not in bound]
            if tied not in allowed:
                allowed[tied] = project(model.levels, model.tables, tied, cells)
            feasible = seen | np.expand_dims(allowed[tied], free)
        numbers.append((int(seen.sum()), int(feasible.sum()), int((~feasible).sum())))
        missing += [
            tuple(zip(combo, v, strict=True)) for v in np.argwhere(feasible & ~seen).tolist()
        ]
        impossible += [tuple(zip(combo, v, strict=True)) for v in np.argwhere(~feasible).tolist()]
    covered, possible, refuted = np.array(numbers, np.int64).T
    return Tally(
        factors,
        strength,
        np.array(chosen, np.int64),
        covered,
        possible,
        refuted,
        missing,
        impossible,
    )
