"""Calls of a page beyond its plan, drawn at random.

A call has values of the plan that go together. Some of its extents, items and numbers are replaced
by others, among them those of the table of sizes, at which devices change what they do; rules are
taken to their limits; and calls are put on either side of the boundaries of their operator, with
all that a boundary speaks of at once. Nothing here says whether a call is legal; the oracle labels
whole tables of what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby, islice

import numpy as np

from opgen.calls.layout import elements, representable
from opgen.numerics.splitmix import SplitMix
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.language.term import Reference
from opgen.spec.language.value import Value
from opgen.spec.sizes import Sizes, shipped_sizes
from opgen.spec.spec import Spec
from opgen.suite.covering import Model
from opgen.suite.covering.solver import Solver
from opgen.suite.enumeration.edit_generator import EditGenerator
from opgen.suite.enumeration.size_calls import Wanted, put, told_whole
from opgen.suite.facts import letters_of
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.edits import FOLLOW, EditTable
from opgen.suite.planning.overlay import Columns, Overlay, taken
from opgen.suite.planning.plan import Plan
from opgen.suite.planning.usual_values import whole_numbers
from opgen.suite.random_extents import FEW, changed_names, extents_of_tensor, one_aimed_at, one_in

ITEMS = 9
"""Most items of arrays are below this."""
ELEMENTS, TIMES, MOST = 1 << 16, 4, 1 << 20
"""The most elements of all tensors of a call. Where a size needs more: so many times what it needs,
and the most of all."""
SIZES, OF_EACH = 32, 8
"""Sizes of several names together that a table has, and calls that are drawn of each."""
RANKS = 9
"""Tensors have fewer axes than this."""
THE_PLANS, FEW_EXTENTS, LEAST, ANY = range(4)
"""What a call that is aimed at some extents has besides, so that many are legal: what the plan has;
few of all extents; these, and items of 0 and 1; or anything. The more of them were legal, the more
are drawn so."""
AROUND = 32
"""A call that is aimed at extents may have so many times their product of elements, if that is more
than :data:`ELEMENTS`, and at most :data:`MOST`."""
GUARDS, BASES = 12, 4
"""Guards of rules that are taken to their limits in a table, and calls in which each is."""


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
    """Calls of one page; what is drawn follows from ``seed`` and what was drawn before.

    ``sizes`` are the extents that a ``table``, by default ``specs/sizes.yaml``, has for all
    operators, as they are drawn, in ascending order.
    """

    def __init__(
        self, spec: Spec, plan: Plan, tier: str, seed: int, table: Sizes | None = None
    ) -> None:
        self.spec = spec
        self.compiled = CompiledPlan(spec, plan, tier)
        self.random = SplitMix(seed)
        tables = [(axes, allowed) for axes, allowed, _ in self.compiled.constraints.tables]
        self.solver = Solver(Model(self.compiled.shape, tuple(tables)), self.random)
        letters: list[Reference] = [(name, "") for name in letters_of(spec)]
        scalars: list[Reference] = [(p.name, "") for p in whole_numbers(spec) if not p.is_array]
        items: list[Reference] = [
            (name, "")
            for p in whole_numbers(spec)
            for slots in p.items.values()
            for name in (slot[0] for slot in slots)
        ]
        free = [ref for ref in dict.fromkeys([*letters, *scalars]) if ref not in spec.equalities]
        self.extents = free
        table = table or shipped_sizes()
        self.sizes = np.array(table.drawn)
        whole = [*told_whole(spec, table)]
        self.whole, self.of_a_table = cycle(whole), min(SIZES, len(whole))
        self.items = [ref for ref in dict.fromkeys(items) if ref not in (*free, *spec.equalities)]
        self.ways = np.ones((2, ANY + 1), dtype=np.int64)  # legal calls and all, by their others
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
        :data:`ELEMENTS`, or of what a size needs; or, if ``invalid``, calls that break
        one rule, which the page forbids. ``aims``: (rows, extents) int64, values that extents shall
        have, -1 for any.
        """
        levels = self._levels(len(aims))
        aims = aims[: len(levels)]
        aimed = (aims >= 0).any(axis=1)
        others = np.where(aimed, self._ways(len(aims)), ANY)
        columns = {**self._numbers(aims, others), **self._shapes(others == ANY)}
        drawn = self._judged(levels, Overlay(columns))
        most = np.clip(AROUND * np.where(aims >= 0, aims, 1).prod(axis=1), ELEMENTS, MOST)
        fit = self._wanted(drawn, most, False)
        self.ways += [np.bincount(others[some], minlength=ANY + 1) for some in (fit & aimed, aimed)]
        legal = np.flatnonzero(fit)
        limits = self._at_limits(drawn.take(legal), levels[legal], taken(columns, legal))
        every = [(drawn, most), (limits, ELEMENTS), *self._at_sizes()]
        parts = [
            part.take(np.flatnonzero(self._wanted(part, most, invalid))) for part, most in every
        ]
        calls = DrawnCalls(
            Judgement.concatenate([part.judged for part in parts]),
            np.concatenate([part.recipes for part in parts]),
        )
        _, first = calls.judged.table.alike(np.arange(len(calls)))
        return calls.take(np.sort(first))

    def _levels(self, rows: int) -> np.ndarray:
        """(at most rows, axes) values of the plan that go together."""
        free = np.full((rows, len(self.compiled.shape)), -1, dtype=np.int64)
        levels, feasible = self.solver.completed(free)
        return np.asarray(levels[feasible])

    def _judged(
        self, levels: np.ndarray, edits: Overlay, points: Sequence[Wanted] = ({},)
    ) -> DrawnCalls:
        builder = self.compiled.builder(levels, edits)
        put(self.compiled, builder, points)
        judged = judge(self.spec, builder.table())
        return DrawnCalls(judged, np.array(self.compiled.recipes(levels)))

    def _wanted(self, drawn: DrawnCalls, most: int | np.ndarray, invalid: bool) -> np.ndarray:
        """(rows,) bool: calls of at most so many elements that can be made, and that are legal, or
        break one rule alone.
        """
        judged = drawn.judged
        if invalid:
            forbids = np.array([rule.forbids for rule in self.spec.rules])
            fit = (judged.broken.sum(axis=0) == 1) & judged.broken[forbids].any(axis=0)
        else:
            fit = judged.valid
        return np.asarray(fit & representable(judged.table) & (elements(judged.table) <= most))

    def _at_sizes(self) -> Iterator[tuple[DrawnCalls, int | np.ndarray]]:
        """Calls at the next sizes of several names, with few of all other extents; and the most
        elements that they may have, by those of the smallest legal one at its size.
        """
        for _, alike in groupby(islice(self.whole, self.of_a_table), lambda size: size.names):
            points = [size.values for size in alike]
            levels = self._levels(OF_EACH * len(points))
            few = 1 + self.random.small(len(levels), len(self.extents)) % FEW
            columns = self._numbers(few, np.full(len(levels), ANY))
            free = {ref: value for ref, value in columns.items() if ref not in points[0]}
            drawn = self._judged(levels, Overlay(free), points)
            held = elements(drawn.judged.table).reshape(len(points), -1)
            legal = drawn.judged.valid.reshape(held.shape)
            least = held.min(axis=1, initial=MOST, where=legal)
            yield drawn, np.clip(TIMES * least, ELEMENTS, MOST).repeat(held.shape[1])

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
        edited, under = table.columns(0), taken(columns, table.base)
        builder = self.compiled.builder(levels[table.base])
        both = {
            ref: builder.stack(edited[ref], under[ref]) if ref in edited and ref in under else value
            for ref, value in {**under, **edited}.items()
        }
        return self._judged(levels[table.base], Overlay(both))

    # what is drawn --------------------------------------------------------------------------------
    def _ways(self, rows: int) -> np.ndarray:
        """(rows,) what calls have in their other extents."""
        sums = np.cumsum(self.ways[0] / self.ways[1])
        return np.searchsorted(sums / sums[-1], self.random.small(rows) / (1 << 16), side="right")

    def _numbers(self, aims: np.ndarray, others: np.ndarray) -> Columns:
        """Extents and numbers, those that are aimed at and others as ``others`` says; most items
        are small.
        """
        names = [*self.extents, *self.items]
        aims = np.hstack([aims, np.full((len(aims), len(self.items)), -1)])
        values = extents_of_tensor(self.random, self.sizes, aims)
        item = np.arange(len(names)) >= len(self.extents)
        others, small = others[:, None], self.random.small(*values.shape)
        values = np.where(item & ~one_in(self.random, 8, *values.shape), small % ITEMS, values)
        aimed = aims >= 0
        least = item & (others == LEAST)
        few = ~item & ~aimed & ((others == LEAST) | (others == FEW_EXTENTS))
        # which often is what relations of extents ask for
        alike = one_in(self.random, 4, *values.shape)
        values = np.where(
            few, np.where(alike, one_aimed_at(self.random, aims), 1 + small % FEW), values
        )
        values = np.where(least, small % 2, values)
        changed = (
            aimed | few | least | (changed_names(self.random, *values.shape) & (others == ANY))
        )
        return {ref: Value(values[:, i], changed[:, i]) for i, ref in enumerate(names)}

    def _shapes(self, free: np.ndarray) -> Columns:
        """The shapes that the plan chooses whole, in the rows that are free."""
        rows = len(free)
        changed = changed_names(self.random, rows, len(self.shapes)) & free[:, None]
        return {
            ref: Value(
                (
                    self.random.small(rows) % RANKS,
                    extents_of_tensor(self.random, self.sizes, np.full((rows, RANKS - 1), -1)),
                ),
                changed[:, i],
            )
            for i, ref in enumerate(self.shapes)
        }
