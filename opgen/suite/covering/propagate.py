"""Constraint propagation on many partial assignments at once.

A partial assignment is a domain: a bool per (factor, value), laid out factor by factor. A value
stays in the domain while every table has an allowed row inside the domain that holds it
(generalised arc consistency). Small tables keep a bitset of allowed rows per value (compact tables;
Demeulenaere et al. 2016), large ones are sliced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from opgen.suite.covering.model import Table

Domain = NDArray[np.bool_]

JOINED_ROWS = 2048
"""Tables are joined while the join has no more allowed rows than this: propagation through one is
exact."""
JOINED_CELLS = 1 << 17
"""A join is tried only while it has no more cells than this, allowed or not."""
SMALL = 1024
"""Tables with no more words of bitsets than this are kept as bitsets."""
SCRATCH = 1 << 23
"""Large tables are looked at in blocks of this many cells."""


class Propagator:
    """Narrows domains ``(n, values)`` to what the tables support."""

    def __init__(self, levels: Sequence[int], tables: Sequence[Table]) -> None:
        self.levels = tuple(levels)
        self.offsets = np.concatenate([[0], np.cumsum(levels)]).astype(np.int64)
        self.tables: list[_Table] = []
        for scope, allowed in joined(levels, tables):
            words = sum(allowed.shape) * (np.count_nonzero(allowed) // 64 + 1)
            self.tables.append(
                (_Bits if words <= SMALL else _Cells)((scope, allowed), self.offsets)
            )
        self.touching: list[list[int]] = [[] for _ in levels]
        for i, bits in enumerate(self.tables):
            for factor in bits.scope:
                self.touching[factor].append(i)

    def free(self) -> Domain:
        """A domain with nothing assigned and nothing propagated."""
        return np.ones((1, int(self.offsets[-1])), np.bool_)

    def assign(self, domain: Domain, factor: int, values: NDArray[np.int64]) -> None:
        """Give one factor a value in each domain, without propagating."""
        first = int(self.offsets[factor])
        block = domain[:, first : first + self.levels[factor]]
        kept = block[np.arange(len(domain)), values].copy()
        block[:] = False
        block[np.arange(len(domain)), values] = kept

    def narrow(
        self, domain: Domain, factors: Iterable[int], since: Domain | None = None
    ) -> NDArray[np.bool_]:
        """Propagate in place what the changed ``factors`` imply; returns which domains are still
        alive.

        With ``since``, a propagated domain ``(1, values)``, only what differs from it counts as
        changed.
        """
        alive = np.ones(len(domain), np.bool_)
        dirty = {i: alive for factor in factors for i in self.touching[factor]}
        if since is not None:
            dirty = {
                i: (domain[:, t.ids] != since[:, t.ids]).any(axis=1)
                for i in dirty
                for t in [self.tables[i]]
            }
        while dirty:
            i = min(dirty)
            table = self.tables[i]
            chosen = np.flatnonzero(dirty.pop(i) & alive)[:, None]
            before = domain[chosen, table.ids]
            after = before & table.supported(before)
            if (removed := before != after).any():
                domain[chosen, table.ids] = after
                alive[chosen[:, 0]] = after.any(axis=1)
                by_factor = np.logical_or.reduceat(removed, table.starts, axis=1)
                for axis in np.flatnonzero(by_factor.any(axis=0)):
                    hit = np.zeros(len(domain), np.bool_)
                    hit[chosen[:, 0]] = by_factor[:, axis]
                    for j in self.touching[table.scope[axis]]:
                        if j != i:
                            dirty[j] = dirty[j] | hit if j in dirty else hit
        return alive

    def beside(self, rows: NDArray[np.int64], factor: int) -> Domain:
        """Which values of a factor the tables allow beside the other values of complete rows: ``(n,
        levels)``.
        """
        allowed = np.ones((len(rows), self.levels[factor]), np.bool_)
        for i in self.touching[factor]:
            others, along = self.tables[i].along[factor]
            allowed &= along[tuple(rows[:, f] for f in others)]
        return allowed


class _Table:
    """One table; ``ids`` are the values of its factors as domains number them, ``starts`` each
    factor's first.

    ``along``: factor -> the other factors, and the table with the factor's axis last.
    """

    def __init__(self, table: Table, offsets: NDArray[np.int64]) -> None:
        self.scope, self.allowed = table
        self.ids = np.concatenate([np.arange(offsets[f], offsets[f + 1]) for f in self.scope])
        self.starts = np.concatenate([[0], np.cumsum(self.allowed.shape)[:-1]]).astype(np.int64)
        self.along = {
            factor: (
                self.scope[:axis] + self.scope[axis + 1 :],
                np.moveaxis(self.allowed, axis, -1),
            )
            for axis, factor in enumerate(self.scope)
        }

    def supported(self, domain: Domain) -> Domain:
        """Which values of its factors an allowed row inside each domain ``(n, values)`` holds."""
        raise NotImplementedError


class _Bits(_Table):
    """A small table as bitsets: ``bits[v]`` marks the allowed rows that hold value ``v`` of the
    table's factors.
    """

    def __init__(self, table: Table, offsets: NDArray[np.int64]) -> None:
        super().__init__(table, offsets)
        rows = np.argwhere(self.allowed)
        holds = np.zeros((len(self.ids), max(1, -(-len(rows) // 64)) * 64), np.bool_)
        for axis, first in enumerate(self.starts):
            holds[first + rows[:, axis], np.arange(len(rows))] = True
        self.bits = np.packbits(holds, axis=1).view(np.uint64)

    def supported(self, domain: Domain) -> Domain:
        mask = (-domain.astype(np.int64)).view(np.uint64)
        inside = np.bitwise_or.reduceat(self.bits & mask[:, :, None], self.starts, axis=1)
        rows = np.bitwise_and.reduce(inside, axis=1)
        found: Domain = (self.bits & rows[:, None, :]).any(axis=2)
        return found


class _Cells(_Table):
    """A large table as it is. Factors with one value left select a slice; only the slice is looked
    at.
    """

    def supported(self, domain: Domain) -> Domain:
        counts = np.add.reduceat(domain, self.starts, axis=1, dtype=np.int64)
        pattern = (counts == 1) @ (1 << np.arange(len(self.scope)))
        found = np.zeros_like(domain)
        for which in np.unique(pattern):
            chosen = np.flatnonzero(pattern == which)
            single = [bool(which >> axis & 1) for axis in range(len(self.scope))]
            cells = np.prod(
                [n for n, one in zip(self.allowed.shape, single, strict=True) if not one], dtype=int
            )
            block = max(1, SCRATCH // int(cells))
            for first in range(0, len(chosen), block):
                part = chosen[first : first + block]
                found[part] = self._slice(domain[part], single)
        return found

    def _slice(self, domain: Domain, single: list[bool]) -> Domain:
        blocks = np.split(domain, self.starts[1:], axis=1)
        held = [axis for axis, one in enumerate(single) if one]
        free = [axis for axis, one in enumerate(single) if not one]
        where = tuple(blocks[axis].argmax(axis=1) for axis in held)
        rows = (
            self.allowed.transpose(held + free)[where]
            if held
            else np.repeat(self.allowed[None], len(domain), 0)
        )
        for place, axis in enumerate(free, 1):
            if not blocks[axis].all():
                shape = [1] * rows.ndim
                shape[0], shape[place] = blocks[axis].shape
                rows = rows & blocks[axis].reshape(shape)
        found = np.zeros_like(domain)
        for axis in reversed(free):
            size = rows.shape[-1]
            first = self.starts[axis]
            found[:, first : first + size] = rows.reshape(len(rows), -1, size).any(axis=1)
            rows = rows.any(axis=-1)
        for axis in held:
            first = self.starts[axis]
            found[:, first : first + blocks[axis].shape[1]] = blocks[axis] & rows[:, None]
        return found


def joined(levels: Sequence[int], tables: Sequence[Table]) -> list[Table]:
    """Equivalent tables, fewer and stronger: those that share factors are joined while the join
    stays small.
    """
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
                    cells = prod(levels[factor] for factor in scope)
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
    return table[1].reshape(
        [table[1].shape[table[0].index(f)] if f in table[0] else 1 for f in scope]
    )
