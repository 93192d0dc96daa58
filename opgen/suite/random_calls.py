"""Calls of a page beyond its plan, drawn at random.

A call has values of the plan that go together. Some of its extents, items and numbers are replaced
by others, among them those at which devices change what they do; and rules are taken to their
limits. Nothing here says whether a call is legal; the oracle labels whole tables of what is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from opgen.calls.kinds import KINDS
from opgen.calls.layout import elements, representable
from opgen.numerics.splitmix import SplitMix
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.language.functions import Value
from opgen.spec.language.term import Reference
from opgen.spec.spec import Parameter, Spec
from opgen.suite.covering import Model
from opgen.suite.covering.solver import Solver
from opgen.suite.enumeration.edit_generator import EditGenerator
from opgen.suite.facts import letters_of
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.edits import FOLLOW, EditTable
from opgen.suite.planning.overlay import Overlay
from opgen.suite.planning.plan import Plan

SIZES = np.unique([(1 << power) + step for power in range(14) for step in (-1, 0, 1)])[1:]
"""Extents at which blocks, repeats and buffers of devices end, and their neighbours."""
SMALL, WIDE = 64, 256
"""A third of all extents are drawn evenly from 1 to the first, a third from 1 to the second: more
than one block of any alignment."""
FEW, ITEMS = 3, 9
"""Extents beside large ones are at most the first; most items of arrays are below the second."""
LARGEST = 1 << 14
"""The largest product of the extents that are drawn for a call."""
ELEMENTS = 1 << 16
"""The most elements of all tensors of a call."""
RANKS = 9
"""Tensors have fewer axes than this."""
GUARDS, BASES = 12, 4
"""Guards of rules that are taken to their limits in a table, and calls in which each is."""

Columns = Mapping[Reference, Value]
"""Names with new values, bound in some of the rows."""


@dataclass(frozen=True)
class DrawnCalls:
    """Calls of one page, judged, and the data recipe of each."""

    judged: Judgement
    recipes: np.ndarray

    def __len__(self) -> int:
        return len(self.recipes)

    def take(self, rows: np.ndarray) -> DrawnCalls:
        """The rows at ``rows``, in that order."""
        return DrawnCalls(self.judged.take(rows), self.recipes[rows])


class RandomCalls:
    """Calls of one page; what is drawn follows from ``seed`` and what was drawn before."""

    def __init__(self, spec: Spec, plan: Plan, tier: str, seed: int) -> None:
        self.spec = spec
        self.compiled = CompiledPlan(spec, plan, tier)
        self.random = SplitMix(seed)
        tables = [(axes, allowed) for axes, allowed, _ in self.compiled.constraints.tables]
        self.solver = Solver(Model(self.compiled.shape, tuple(tables)), self.random)
        letters: list[Reference] = [(name, "") for name in letters_of(spec)]
        scalars: list[Reference] = [
            (p.name, "") for p in spec.parameters.values() if _whole(p) and not p.is_array
        ]
        items: list[Reference] = [
            (name, "")
            for p in spec.parameters.values()
            if _whole(p)
            for slots in p.items.values()
            for name in (slot[0] for slot in slots)
        ]
        free = [ref for ref in dict.fromkeys([*letters, *scalars]) if ref not in spec.equalities]
        self.extents = free
        self.items = [ref for ref in dict.fromkeys(items) if ref not in (*free, *spec.equalities)]
        self.shapes = [ref for refs in self.compiled.refs for ref in refs if ref[1] == "shape"]

    @property
    def names(self) -> list[Reference]:
        """What calls differ in: attributes of tensors, extents, items and numbers."""
        tensors = [p.name for p in self.spec.parameters.values() if p.is_tensor and not p.of]
        of_tensors = [(name, what) for name in tensors for what in ("dtype", "numel", "rank")]
        letters = [(name, "") for name in letters_of(self.spec)]
        return list(
            dict.fromkeys([("product", ""), *letters, *self.extents, *self.items, *of_tensors])
        )

    def draw(self, aims: np.ndarray, invalid: bool = False) -> DrawnCalls:
        """About as many calls as ``aims`` has rows, all different: legal ones of at most
        :data:`ELEMENTS`; or, if ``invalid``, calls that break one rule, which the page forbids.
        ``aims``: (rows, extents) int64, values that extents shall have, -1 for any.
        """
        levels, feasible = self.solver.completed(
            np.full((len(aims), len(self.compiled.shape)), -1, dtype=np.int64)
        )
        levels = levels[feasible]
        columns = {**self._numbers(aims[feasible]), **self._shapes(len(levels))}
        drawn = self._judged(levels, columns)
        legal = np.flatnonzero(self._wanted(drawn, False))
        parts = [drawn, self._at_limits(drawn.take(legal), levels[legal], _taken(columns, legal))]
        both = DrawnCalls(
            Judgement.concatenate([part.judged for part in parts]),
            np.concatenate([part.recipes for part in parts]),
        )
        wanted = np.flatnonzero(self._wanted(both, invalid))
        _, first = both.judged.table.alike(wanted)
        return both.take(wanted[np.sort(first)])

    def _judged(self, levels: np.ndarray, columns: Columns) -> DrawnCalls:
        table = self.compiled.builder(levels, Overlay(columns)).table()
        return DrawnCalls(judge(self.spec, table), np.array(self.compiled.recipes(levels)))

    def _wanted(self, drawn: DrawnCalls, invalid: bool) -> np.ndarray:
        """(rows,) bool: calls that can be made, and that are legal, or break one rule alone."""
        judged = drawn.judged
        if invalid:
            forbids = np.array([rule.forbids for rule in self.spec.rules])
            fit = (judged.broken.sum(axis=0) == 1) & judged.broken[forbids].any(axis=0)
        else:
            fit = judged.valid
        return np.asarray(fit & representable(judged.table) & (elements(judged.table) <= ELEMENTS))

    def _at_limits(self, legal: DrawnCalls, levels: np.ndarray, columns: Columns) -> DrawnCalls:
        """Calls on both sides of the limits of some rules: edits of legal calls."""
        guards = [guard for rule in self.spec.rules for guard in rule.guards]
        table, bases = EditTable.unedited(0), [np.zeros(0, dtype=np.int64)]
        changes = [table.numbered((), 0)]
        generator = EditGenerator(legal.judged)
        for place in self.random.shuffled(len(guards))[:GUARDS].tolist() if len(legal) else ():
            rows = self.random.shuffled(len(legal))[:BASES]
            for places, edits in generator.turning(rows, guards[place]):
                bases.append(rows[places])
                changes.append(table.numbered(edits, len(places)))
        base = np.concatenate(bases)
        table.add(base, np.full(len(base), FOLLOW), np.concatenate(changes))
        edited, under = table.columns(0), _taken(columns, table.base)
        builder = self.compiled.builder(levels[table.base])
        both = {
            ref: builder.stack(edited[ref], under[ref]) if ref in edited and ref in under else value
            for ref, value in {**under, **edited}.items()
        }
        return self._judged(levels[table.base], both)

    # what is drawn --------------------------------------------------------------------------------
    def _one_in(self, many: int, *shape: int) -> np.ndarray:
        return np.asarray(self.random.small(*shape) % many == 0)

    def _sizes(self, aims: np.ndarray) -> np.ndarray:
        """(rows, n) extents of one tensor each, those that are aimed at, others at random. Of the
        latter as many as fit, in a random order, stay what they are; the rest are few.
        """
        shape = aims.shape
        even = 1 + self.random.small(*shape) % np.where(self._one_in(2, *shape), SMALL, WIDE)
        sizes = SIZES[self.random.small(*shape) % len(SIZES)]
        values = np.where(aims >= 0, aims, np.where(self._one_in(3, *shape), sizes, even))
        order = np.argsort(np.where(aims >= 0, -1, self.random.small(*shape)), axis=1)
        product = np.cumprod(np.take_along_axis(values, order, axis=1).astype(float), axis=1)
        over = np.zeros(shape, dtype=bool)
        np.put_along_axis(over, order, product > LARGEST, axis=1)
        return np.where(over, 1 + self.random.small(*shape) % FEW, values)

    def _changed(self, rows: int, names: int) -> np.ndarray:
        """(rows, names) bool: in each row one name in four, two or three."""
        return np.asarray(self.random.small(rows, names) % 4 <= self.random.small(rows, 1) % 3)

    def _numbers(self, aims: np.ndarray) -> Columns:
        """Extents and numbers; most items are small."""
        names = [*self.extents, *self.items]
        aims = np.hstack([aims, np.full((len(aims), len(self.items)), -1)])
        values = self._sizes(aims)
        few = self.random.small(*values.shape) % ITEMS
        item = np.arange(len(names)) >= len(self.extents)
        values = np.where(item & ~self._one_in(8, *values.shape), few, values)
        changed = self._changed(*values.shape) | (aims >= 0)
        return {ref: Value(values[:, i], changed[:, i]) for i, ref in enumerate(names)}

    def _shapes(self, rows: int) -> Columns:
        """The shapes that the plan chooses whole."""
        changed = self._changed(rows, len(self.shapes))
        return {
            ref: Value(
                (self.random.small(rows) % RANKS, self._sizes(np.full((rows, RANKS - 1), -1))),
                changed[:, i],
            )
            for i, ref in enumerate(self.shapes)
        }


def _whole(parameter: Parameter) -> bool:
    """Whether a parameter holds whole numbers that are no words of a list."""
    kind = KINDS[parameter.kind]
    return kind.family in ("scalar", "array") and kind.element.term == "int" and not parameter.enum


def _taken(columns: Columns, rows: np.ndarray) -> Columns:
    """Columns at some rows."""
    return {
        ref: Value(
            tuple(part[rows] for part in value.data)
            if isinstance(value.data, tuple)
            else value.data[rows],
            value.bound[rows],
        )
        for ref, value in columns.items()
    }
