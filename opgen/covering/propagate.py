"""Constraint propagation on many partial assignments at once.

A partial assignment is a domain: a bool per (factor, value), laid out factor by factor. Each table keeps, per
value, a bitset of its allowed rows; a value stays in the domain while an allowed row inside the domain holds it
(generalised arc consistency by compact tables; Demeulenaere et al. 2016).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from opgen.covering.model import Table

Domain = NDArray[np.bool_]

JOINED_ROWS = 2048
"""Tables are joined while the join has no more allowed rows than this: propagation through one is exact."""
JOINED_CELLS = 1 << 17
SCRATCH_WORDS = 1 << 20


class Propagator:
    """Narrows domains ``(n, values)`` to what the tables support."""

    def __init__(self, levels: Sequence[int], tables: Sequence[Table]) -> None:
        self.levels = tuple(levels)
        self.offsets = np.concatenate([[0], np.cumsum(levels)]).astype(np.int64)
        self.tables = [_Bits(table, self.offsets) for table in joined(levels, tables)]
        self.touching: list[list[int]] = [[] for _ in levels]
        for i, bits in enumerate(self.tables):
            for factor in bits.scope:
                self.touching[factor].append(i)

    def free(self, n: int = 1) -> Domain:
        """Domains with nothing assigned and nothing propagated."""
        return np.ones((n, int(self.offsets[-1])), np.bool_)

    def assign(self, domain: Domain, factor: int, values: NDArray[np.int64]) -> None:
        """Give one factor a value in each domain, without propagating."""
        first = int(self.offsets[factor])
        block = domain[:, first : first + self.levels[factor]]
        kept = block[np.arange(len(domain)), values].copy()
        block[:] = False
        block[np.arange(len(domain)), values] = kept

    def narrow(self, domain: Domain, factors: Iterable[int]) -> NDArray[np.bool_]:
        """Propagate in place what the changed ``factors`` imply; returns which domains are still alive."""
        alive = np.ones(len(domain), np.bool_)
        dirty = {i for factor in factors for i in self.touching[factor]}
        while dirty:
            i = min(dirty)
            dirty.discard(i)
            changed = self.tables[i].narrow(domain, alive)
            dirty.update(j for factor in changed for j in self.touching[factor] if j != i)
        return alive

    def beside(self, rows: NDArray[np.int64], factor: int) -> Domain:
        """Which values of a factor the tables allow beside the other values of complete rows: ``(n, levels)``."""
        allowed = np.ones((len(rows), self.levels[factor]), np.bool_)
        for i in self.touching[factor]:
            table = self.tables[i]
            others = tuple(rows[:, f] for f in table.scope if f != factor)
            allowed &= np.moveaxis(table.allowed, table.scope.index(factor), -1)[others]
        return allowed


class _Bits:
    """One table as bitsets: ``bits[v]`` marks the allowed rows that hold value ``v`` of the table's factors."""

    def __init__(self, table: Table, offsets: NDArray[np.int64]) -> None:
        self.scope, self.allowed = scope, allowed = table
        rows = np.argwhere(allowed)
        words = max(1, -(-len(rows) // 64))
        self.ids = np.concatenate([np.arange(offsets[f], offsets[f + 1]) for f in scope])
        holds = np.zeros((len(self.ids), words * 64), np.bool_)
        first = 0
        starts = []
        for axis, n in enumerate(allowed.shape):
            starts.append(first)
            holds[first + rows[:, axis], np.arange(len(rows))] = True
            first += n
        self.bits = np.packbits(holds, axis=1).view(np.uint64)
        self.starts = np.array(starts)
        self.block = max(1, SCRATCH_WORDS // self.bits.size)

    def narrow(self, domain: Domain, alive: NDArray[np.bool_]) -> list[int]:
        """Narrow the domains by this table alone; returns the factors whose domains changed anywhere."""
        changed = np.zeros(len(self.ids), np.bool_)
        for first in range(0, len(domain), self.block):
            part = slice(first, first + self.block)
            before = domain[part, self.ids]
            mask = -before.astype(np.int64)
            rows = self.bits & mask.view(np.uint64)[:, :, None]
            live = np.bitwise_and.reduce(np.bitwise_or.reduceat(rows, self.starts, axis=1), axis=1)
            after = before & (self.bits & live[:, None, :]).any(axis=2)
            alive[part] &= live.any(axis=1)
            removed = before & ~after
            if removed.any():
                changed |= removed.any(axis=0)
                domain[part, self.ids] = after
        hit = np.logical_or.reduceat(changed, self.starts)
        return [factor for factor, one in zip(self.scope, hit, strict=True) if one]


def joined(levels: Sequence[int], tables: Sequence[Table]) -> list[Table]:
    """Equivalent tables, fewer and stronger: those that share factors are joined while the join stays small."""
    pool = [_sorted(table) for table in tables if not table[1].all()]
    refused: set[tuple[int, int]] = set()
    keys = list(range(len(pool)))
    serial = len(pool)
    while True:
        pairs = []
        for a in range(len(pool)):
            for b in range(a + 1, len(pool)):
                if (keys[a], keys[b]) not in refused and set(pool[a][0]) & set(pool[b][0]):
                    scope = tuple(sorted(set(pool[a][0]) | set(pool[b][0])))
                    cells = 1
                    for factor in scope:
                        cells *= levels[factor]
                    inside = scope in (pool[a][0], pool[b][0])
                    if cells <= JOINED_CELLS or inside:
                        pairs.append((not inside, cells, a, b, scope))
        for rank, _, a, b, scope in sorted(pairs):
            both = _spread(pool[a], scope) & _spread(pool[b], scope)
            if not rank or int(both.sum()) <= JOINED_ROWS:
                pool[a], keys[a] = (scope, both), serial
                serial += 1
                del pool[b], keys[b]
                break
            refused.add((keys[a], keys[b]))
        else:
            return pool


def _sorted(table: Table) -> Table:
    order = np.argsort(table[0])
    return tuple(sorted(table[0])), np.ascontiguousarray(table[1].transpose(order))


def _spread(table: Table, scope: tuple[int, ...]) -> NDArray[np.bool_]:
    """A table as an array that broadcasts over a larger scope."""
    return table[1].reshape([table[1].shape[table[0].index(f)] if f in table[0] else 1 for f in scope])
