"""Proposing calls that break one rule, and calls that stand at its limit, by editing legal ones.

A proposal is one edit of one legal row: a name, or one extent, item, dtype, format, rank or pointer. Everything that follows
from the edited name follows again (that is the repair). Nothing here believes a proposal: the oracle labels it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgen import formulas
from opgen.formulas import Value
from opgen.oracle import Judgement
from opgen.rules import Guard
from opgen.spec import Spec
from opgen.table import ArrayColumn, TensorColumn
from opgen.terms import Reference, View
from opgen.words import words

LENGTHS = range(7)
RANKS = (0, 1, 2, 3, 4, 5, 6, 9)
_LIMIT = 2**62


@dataclass(frozen=True)
class Proposals:
    """Edits of legal rows, as columns: which guard each is for, the row it starts from, the name and its new value.

    ``value`` holds numbers; for a whole shape the row of ``shapes`` that becomes the shape. In ``frozen`` rows nothing
    follows from the edit.
    """

    guard: np.ndarray
    base: np.ndarray
    target: np.ndarray
    value: np.ndarray
    frozen: np.ndarray
    targets: list[Reference]
    shapes: list[tuple[int, ...]]

    def __len__(self) -> int:
        return len(self.guard)

    def edits(self) -> dict[Reference, Value]:
        """One partly bound column per edited name."""
        found: dict[Reference, Value] = {}
        for i, reference in enumerate(self.targets):
            here = self.target == i
            if reference[1] == "shape":
                width = max([len(s) for s in self.shapes] + [1])
                extents = np.ones((len(self), width), dtype=np.int64)
                rank = np.zeros(len(self), dtype=np.int64)
                for row in np.flatnonzero(here):
                    shape = self.shapes[self.value[row]]
                    rank[row], extents[row, : len(shape)] = len(shape), shape
                found[reference] = Value((rank, extents), here)
            else:
                found[reference] = Value(np.where(here, self.value, 0), here)
        return found


class Proposer:
    """Edits that may break a guard, or bring a call to its limit. ``bases`` rows are tried per product and guard."""

    def __init__(self, judged: Judgement, bases: int, cost: np.ndarray) -> None:
        self.spec: Spec = judged.spec
        self.judged = judged
        self.view = judged.view
        self.rows = len(judged.table)
        self.bases = bases
        self.order = np.argsort(cost, kind="stable")
        self.guards: list[tuple[int, int]] = []
        self.columns: list[tuple[int, int, int, int, int]] = []
        self.targets: dict[Reference, int] = {}
        self.shapes: dict[tuple[int, ...], int] = {}

    def proposals(self) -> Proposals:
        """All edits for all guards of all rules that apply to some legal row."""
        for r, rule in enumerate(self.spec.rules):
            for g, guard in enumerate(rule.guards):
                number = len(self.guards)
                self.guards.append((r, g))
                for base in self._bases(guard):
                    for reference, value in self._edits(guard, base):
                        target = self.targets.setdefault(reference, len(self.targets))
                        self.columns += [(number, base, target, value, frozen) for frozen in ((0, 1) if self._attribute(reference) else (0,))]
        columns = np.array(self.columns, dtype=np.int64).reshape(-1, 5).T
        return Proposals(*columns[:4], columns[4].astype(bool), list(self.targets), list(self.shapes))

    def _attribute(self, reference: Reference) -> bool:
        """Whether an edit can stand alone: anything but a letter, whose only effect is what follows from it."""
        return reference[1] != "" or reference[0] in self.spec.parameters

    def _bases(self, guard: Guard) -> list[int]:
        """The cheapest legal rows of each product to which the guard applies, spread a little."""
        applies = np.broadcast_to(np.asarray(guard.require.read(self.view).bound), self.rows) & self.judged.valid
        if guard.when is not None:
            asked = guard.when.read(self.view)
            applies = applies & np.broadcast_to(np.asarray(asked.data & asked.bound, dtype=bool), self.rows)
        found: list[int] = []
        ordered = self.order[applies[self.order]]
        for product in np.unique(self.judged.table.product):
            rows = ordered[self.judged.table.product[ordered] == product]
            found += [int(rows[i]) for i in np.unique(np.linspace(0, len(rows) - 1, min(self.bases, len(rows))).astype(int))]
        return found

    # what may be edited -----------------------------------------------------------------------------------------------
    def _edits(self, guard: Guard, base: int) -> Iterator[tuple[Reference, int]]:
        numbers = self._levers(guard, base)
        seen = set()
        for reference in guard.require.refs:
            for edit in self._of(reference, base, numbers):
                if edit not in seen and abs(edit[1]) < _LIMIT:
                    seen.add(edit)
                    yield edit

    def _of(self, reference: Reference, base: int, numbers: list[tuple[int, int]]) -> Iterator[tuple[Reference, int]]:
        name, what = reference
        kind = self.spec.scope.kind(reference)
        if kind in ("dtype", "format", "product"):
            allowed = [words().index["product"][p] for p in self.spec.judges] if kind == "product" else range(len(words().names[kind]))
            yield from ((reference, i) for i in allowed)
            if kind == "dtype":
                yield from ((("dtype", ""), i) for i in allowed)
        elif what == "null":
            yield reference, 1
        elif what == "len":
            yield from ((reference, n) for n in LENGTHS)
        elif kind == "bool":
            yield reference, 1 - int(self._value(reference, base))
        elif what == "rank" or what == "shape":
            if what == "rank" and self.spec.parameters[name].shapes:
                yield from ((("rank", ""), rank) for rank in self.spec.parameters[name].shapes)
            yield from self._shapes(name, base, whole=what == "shape")
        elif what in ("lowest", "highest", "numel"):
            yield from self._parts(name, base, numbers, empty=what == "numel")
        else:
            current = self._value(reference, base)
            yield from ((reference, n) for n in candidates(current, numbers))

    def _shapes(self, name: str, base: int, whole: bool) -> Iterator[tuple[Reference, int]]:
        column = self.judged.table.columns[name]
        assert isinstance(column, TensorColumn)
        shape = tuple(column.shape[base, : column.rank[base]].tolist())
        for rank in RANKS:
            changed = shape[len(shape) - rank :] if rank <= len(shape) else (1,) * (rank - len(shape)) + shape
            yield (name, "shape"), self.shapes.setdefault(changed, len(self.shapes))
        if whole:
            for i, extent in enumerate(shape):
                yield from (((name, ("dim", i)), n) for n in (extent + 1, extent - 1, extent * 2))

    def _parts(self, name: str, base: int, numbers: list[tuple[int, int]], empty: bool) -> Iterator[tuple[Reference, int]]:
        """The letters, extents or items that an extreme or a number of elements is made of."""
        column = self.judged.table.columns[name]
        parameter = self.spec.parameters[name]
        if isinstance(column, TensorColumn):
            size, values = int(column.rank[base]), column.shape[base]
            named: tuple[Any, ...] = parameter.shapes.get(size, ())
        else:
            assert isinstance(column, ArrayColumn)
            size, values = int(column.length[base]), column.values[base]
            named = tuple(slot[0] for slot in parameter.items.get(size, ()))
        for i in range(size):
            current = int(values[i])
            wanted = [0, current + 1, -1] if empty else candidates(current, numbers)
            if i < len(named) and isinstance(named[i], str):
                yield from (((named[i], ""), n) for n in wanted)
            where = ("dim", i) if isinstance(column, TensorColumn) else i
            yield from (((name, where), n) for n in wanted)

    def _value(self, reference: Reference, base: int) -> int:
        return int(np.broadcast_to(np.asarray(self.view.get(reference).data), self.rows)[base])

    def _levers(self, guard: Guard, base: int) -> list[tuple[int, int]]:
        """(left side, a right side) of the guard on this row, for numbers."""
        relation = guard.require
        if relation.left.kind != "int":
            return []
        left = relation.left.read(self.view)
        pairs = []
        for right in relation.right:
            x, y = formulas.over_one_divisor(left, right.read(self.view))
            pairs.append(tuple(int(np.broadcast_to(np.asarray(side), self.rows)[base]) for side in (x, y)))
        return pairs  # type: ignore[return-value]


def candidates(current: int, numbers: list[tuple[int, int]]) -> list[int]:
    """Numbers near enough to tip a comparison of ``left`` with ``right`` when ``current`` is part of either."""
    found = {current + 1, current - 1, 0, -1, 2 * current}
    for left, right in numbers:
        gap = right - left
        for d in (-2, -1, 0, 1, 2):
            found |= {right + d, left + d, current + gap + d, current - gap + d, current + gap // 2 + d}
            if left not in (0, 1):
                found.add(current * (right + d) // left)
    found.discard(current)
    return sorted(found, key=lambda n: (abs(n - current), n))


def slack(guard: Guard, view: View, rows: int) -> np.ndarray:
    """(rows,) float64: how far the two sides of a comparison of numbers lie apart; 0 for other comparisons."""
    relation = guard.require
    if relation.left.kind != "int" or relation.operator in ("in", "not in"):
        return np.zeros(rows)
    x, y = formulas.over_one_divisor(relation.left.read(view), relation.right[0].read(view))
    return np.broadcast_to(np.abs(np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64)), rows)


def guard_broken(guard: Guard, view: View, rows: int) -> np.ndarray:
    """(rows,) bool: where this guard, rather than another of its rule, is the one that does not hold."""
    held = guard.require.read(view)
    fails = np.broadcast_to(~np.asarray(held.data, dtype=bool) & held.bound, rows)
    if guard.when is not None:
        asked = guard.when.read(view)
        fails = fails & asked.data & asked.bound
    return fails
