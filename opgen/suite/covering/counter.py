"""The independent counter: what rows cover, counted by brute force, with an exact feasibility of
its own.

Shares nothing with the makers of rows but the nouns. Rows are compared with the tables cell by
cell, tuples are marked in an array. A tuple that a lawful row holds is feasible; for the others the
tables are joined and the remaining factors eliminated one by one (bucket elimination; Dechter
1999), and where that would need large joins, an assignment is searched for each tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from opgen.suite.covering.model import Group, Model, Table, Tally, Tuple, checked_rows, requested

CELLS = 1 << 20
"""A join with more cells than this is not made; an assignment is searched instead."""


def count(
    model: Model,
    rows: NDArray[np.int64],
    strength: int = 2,
    groups: Sequence[Group] = (),
    *,
    listed: bool = False,
) -> tuple[Tally, ...]:
    """The tallies of ``rows`` ``(n, factors)``, -1 where a value is open: of all factors, then of
    each group.

    A row that breaks a table counts for nothing. ``listed`` also lists the missing and the
    impossible tuples.

    >>> ternary = Model((3, 3, 3))
    >>> count(ternary, np.array([[0, 0, 0], [0, 1, 2]]))[0].totals()
    (6, 27, 0)
    """
    checked = checked_rows(model, rows)
    feasibility = _Feasibility(model)
    good = np.array([feasibility.lawful(row) for row in checked], bool)
    return tuple(
        _tally(model, checked[good], feasibility, *group, listed)
        for group in requested(model, strength, groups)
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


def project(
    levels: Sequence[int], tables: Sequence[Table], keep: tuple[int, ...]
) -> NDArray[np.bool_] | None:
    """What the conjunction of the tables allows of the factors ``keep``, exactly; None if a join
    would be too large.
    """
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
            return None
        if target is None:
            return np.broadcast_to(_join(pool, keep), [levels[f] for f in keep])
        inside = [table for table in pool if target in table[0]]
        rest = tuple(factor for factor in scope if factor != target)
        small = np.asarray(_join(inside, scope).any(axis=scope.index(target)))
        pool = [table for table in pool if target not in table[0]] + [(rest, small)]


def satisfiable(levels: Sequence[int], tables: Sequence[Table]) -> bool:
    """Whether an assignment satisfies all tables."""
    found = project(levels, tables, ())
    return bool(found.all()) if found is not None else _search(list(tables))


def _search(tables: list[Table]) -> bool:
    """Whether an assignment satisfies all tables: depth first, the tightest table first, part by
    part.
    """
    if not all(allowed.any() for _, allowed in tables):
        return False
    tables = sorted(
        (t for t in tables if t[0] and not t[1].all()), key=lambda t: int(np.count_nonzero(t[1]))
    )
    if not tables:
        return True
    scope, allowed = tables[0]
    part = [table for table, one in zip(tables, _connected(tables), strict=True) if one]
    others = [table for table, one in zip(tables, _connected(tables), strict=True) if not one]
    values = np.flatnonzero(allowed.any(axis=tuple(range(1, allowed.ndim))))
    return any(
        _search([_slice(table, {scope[0]: int(v)}) for table in part]) for v in values
    ) and _search(others)


def _connected(tables: Sequence[Table]) -> list[bool]:
    """Which tables share factors with the first, by way of others or not."""
    reached = _reached(tables, tables[0][0])
    return [bool(reached & set(scope)) for scope, _ in tables]


def _reached(tables: Sequence[Table], factors: Iterable[int]) -> set[int]:
    """Some factors, and all that tables tie to them, by way of others or not."""
    reached = set(factors)
    while grown := {f for scope, _ in tables if reached & set(scope) for f in scope} - reached:
        reached |= grown
    return reached


def _cells(levels: Sequence[int], scope: Sequence[int] | set[int]) -> int:
    return prod(levels[factor] for factor in scope)


def _join(tables: Sequence[Table], scope: tuple[int, ...]) -> NDArray[np.bool_]:
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


class _Feasibility:
    """Feasibility of the tuples of one combination at a time, remembered per connected part of the
    model.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.known: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        self.part: dict[int, int] = {}
        for factor in range(len(model.levels)):
            if factor not in self.part:
                self.part.update(dict.fromkeys(_reached(model.tables, [factor]), factor))

    def lawful(self, row: NDArray[np.int64]) -> bool:
        """Whether a row, as far as it is fixed, breaks no table and can be completed."""
        fixed = {f: int(v) for f, v in enumerate(row) if v >= 0}
        sliced = [_slice(table, fixed) for table in self.model.tables]
        if not all(allowed.any() for _, allowed in sliced):
            return False
        return len(fixed) == len(row) or satisfiable(self.model.levels, sliced)

    def of(self, combo: tuple[int, ...], seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A bool array over the levels of ``combo``; what lawful rows have ``seen`` is feasible."""
        result = np.ones([self.model.levels[f] for f in combo], np.bool_)
        for part in sorted({self.part[f] for f in combo}):
            inside = tuple(f for f in combo if self.part[f] == part)
            if inside not in self.known:
                away = tuple(axis for axis, f in enumerate(combo) if f not in inside)
                self.known[inside] = self._inside(part, inside, np.asarray(seen.any(axis=away)))
            result &= self.known[inside].reshape(
                [self.model.levels[f] if f in inside else 1 for f in combo]
            )
        return result

    def _inside(
        self, part: int, combo: tuple[int, ...], seen: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        tables = [table for table in self.model.tables if self.part[table[0][0]] == part]
        result = np.ones_like(seen)
        for table in tables:
            alone = project(self.model.levels, [table], combo)
            result &= True if alone is None else alone
        if (seen == result).all():
            return result
        whole = project(self.model.levels, tables, combo)
        if whole is not None:
            return whole
        for values in np.argwhere(result & ~seen):
            fixed = dict(zip(combo, map(int, values), strict=True))
            result[tuple(values)] = _search([_slice(table, fixed) for table in tables])
        return result


def _tally(
    model: Model,
    rows: NDArray[np.int64],
    feasibility: _Feasibility,
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
        feasible = seen if seen.all() else feasibility.of(combo, seen)
        numbers.append((int(seen.sum()), int(feasible.sum()), int((~feasible).sum())))
        if listed:
            missing += [
                tuple(zip(combo, v, strict=True)) for v in np.argwhere(feasible & ~seen).tolist()
            ]
            impossible += [
                tuple(zip(combo, v, strict=True)) for v in np.argwhere(~feasible).tolist()
            ]
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
