"""Constraint propagation on many partial assignments at once.

A partial assignment is a domain: a bool per (factor, value), laid out factor by factor. A value
stays in the domain while every table allows a combination inside the domain that holds it
(generalised arc consistency). A table is a matrix: its first factors number the rows, the others
the columns, so two matrix products look at it for all domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from opgen.suite.covering.model import Table

Domain = NDArray[np.bool_]


class Propagator:
    """Narrows domains ``(n, values)`` to what the tables support."""

    def __init__(self, levels: Sequence[int], tables: Sequence[Table]) -> None:
        self.levels = tuple(levels)
        self.starts = np.cumsum([0, *levels[:-1]])
        self.touching: list[list[_Matrix]] = [[] for _ in levels]
        for scope, allowed in tables:
            matrix = _Matrix(scope, allowed, self.starts)
            for factor in scope:
                self.touching[factor].append(matrix)

    def free(self, n: int) -> Domain:
        """Domains with nothing assigned and nothing propagated."""
        return np.ones((n, sum(self.levels)), np.bool_)

    def block(self, domain: Domain, factor: int) -> Domain:
        """The values of one factor, a view ``(n, levels)``."""
        first = self.starts[factor]
        return domain[:, first : first + self.levels[factor]]

    def sizes(self, domain: Domain) -> NDArray[np.int64]:
        """How many values each factor has left, ``(n, factors)``."""
        return np.asarray(np.add.reduceat(domain, self.starts, axis=1, dtype=np.int64))

    def alive(self, domain: Domain) -> NDArray[np.bool_]:
        """Which domains have a value left for each factor, ``(n,)``."""
        return np.asarray(self.sizes(domain).all(axis=1))

    def assign(self, domain: Domain, factor: int, values: NDArray[np.int64]) -> None:
        """Give one factor a value in each domain, without propagating; -1 leaves it open."""
        kept = (np.arange(self.levels[factor]) == values[:, None]) | (values < 0)[:, None]
        self.block(domain, factor)[...] &= kept

    def narrow(self, domain: Domain, factors: Iterable[int]) -> NDArray[np.bool_]:
        """Propagate in place what the changed ``factors`` imply; returns which domains are still
        alive.
        """
        waiting = dict.fromkeys(matrix for factor in factors for matrix in self.touching[factor])
        while waiting:
            matrix = next(iter(waiting))
            del waiting[matrix]
            before = domain[:, matrix.values]
            after = before & matrix.supported(before)
            removed = np.logical_or.reduceat((before != after).any(axis=0), matrix.starts)
            domain[:, matrix.values] = after
            for axis in np.flatnonzero(removed):
                waiting.update(dict.fromkeys(self.touching[matrix.scope[axis]]))
            waiting.pop(matrix, None)
        return self.alive(domain)

    def beside(self, rows: NDArray[np.int64], factor: int) -> Domain:
        """Which values of a factor the tables allow beside the other values of complete rows: ``(n,
        levels)``.
        """
        allowed = np.ones((len(rows), self.levels[factor]), np.bool_)
        for matrix in self.touching[factor]:
            others, along = matrix.along[factor]
            allowed &= along[tuple(rows[:, f] for f in others)]
        return allowed


class _Matrix:
    """A table as a matrix: a row per combination of its first ``cut`` factors, a column per
    combination of the others.

    ``values`` are the values of its factors as domains number them, ``starts`` each factor's first.
    ``along``: factor -> the other factors, and the table with the factor's axis last.
    """

    def __init__(
        self, scope: tuple[int, ...], allowed: NDArray[np.bool_], starts: NDArray[np.int64]
    ) -> None:
        self.scope = scope
        self.shape = allowed.shape
        self.values = np.concatenate(
            [starts[f] + np.arange(n) for f, n in zip(scope, self.shape, strict=True)]
        )
        self.starts = np.cumsum([0, *self.shape[:-1]])
        self.cut = min(
            range(len(scope)), key=lambda cut: prod(self.shape[:cut]) + prod(self.shape[cut:])
        )
        self.cells = allowed.reshape(prod(self.shape[: self.cut]), -1).astype(np.float32)
        self.along = {
            factor: (scope[:axis] + scope[axis + 1 :], np.moveaxis(allowed, axis, -1))
            for axis, factor in enumerate(scope)
        }

    def supported(self, domain: Domain) -> Domain:
        """Which values of its factors an allowed combination inside each domain ``(n, values)``
        holds.
        """
        blocks = np.split(domain, self.starts[1:], axis=1)
        rows, columns = (
            _combined(blocks[: self.cut], len(domain)),
            _combined(blocks[self.cut :], len(domain)),
        )
        with np.errstate(invalid="ignore"):  # a BLAS may raise it in lanes that it does not use
            held_rows = rows & (columns.astype(np.float32) @ self.cells.T > 0)
            held_columns = columns & (rows.astype(np.float32) @ self.cells > 0)
        return np.concatenate(
            [
                *_values(held_rows, self.shape[: self.cut]),
                *_values(held_columns, self.shape[self.cut :]),
            ],
            axis=1,
        )


def _combined(blocks: Sequence[Domain], n: int) -> Domain:
    """Which combinations of values lie inside domains, ``(n, combinations)``, last factor
    fastest.
    """
    cells = np.ones((n, 1), np.bool_)
    for block in blocks:
        cells = (cells[:, :, None] & block[:, None, :]).reshape(n, cells.shape[1] * block.shape[1])
    return cells


def _values(cells: Domain, shape: tuple[int, ...]) -> list[Domain]:
    """Which values of each factor some combination holds: what :func:`_combined` undoes."""
    grid = cells.reshape(len(cells), *shape)
    axes = range(1, grid.ndim)
    return [
        np.asarray(grid.any(axis=tuple(other for other in axes if other != axis))) for axis in axes
    ]
