"""The search for edits of valid calls that break each rule, if possible no other.

Edits are made in rounds. The first edits valid calls; the next edit what came of it, where a rule
was only broken with others, or applies to no valid call at all. Every row is judged once, after
its last edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from opgen.oracle.judgement import Judgement, judge
from opgen.spec.language import terms
from opgen.spec.language.terms import Reference
from opgen.spec.rules import Guard, Rule, true_where
from opgen.suite.enumeration.edit_generator import EditGenerator
from opgen.suite.enumeration.edited_calls import LAST_RESORT, EditedCalls, weight_of
from opgen.suite.enumeration.reasons import conjuncts, unreachable
from opgen.suite.planning.call_builder import CallBuilder
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.edits import MOST_EDITS, Edit, EditCollector, one_left_out
from opgen.suite.planning.overlay import Overlay

Start: TypeAlias = tuple[int, Callable[[EditGenerator, int], Iterable[Sequence[Edit]]]]
"""An edited call, and what may be edited in it next."""


def _turning(guard: Guard, generator: EditGenerator, row: int) -> Iterable[Sequence[Edit]]:
    return generator.edits(guard, row)


def _dropping(guard: Guard, generator: EditGenerator, row: int) -> Iterable[Sequence[Edit]]:
    return generator.dropping(guard)


def _towards(
    references: Sequence[Reference], generator: EditGenerator, row: int
) -> Iterable[Sequence[Edit]]:
    return generator.any_of(references, row)


@dataclass(frozen=True)
class ValidCalls:
    """Drafted calls, judged: the ``valid`` ones, (rows,) bool, are there to be edited.

    ``levels`` are the values that they were built from, (rows, axes); ``cost`` is what they
    weigh: the cheapest are edited first.
    """

    levels: np.ndarray
    builder: CallBuilder
    judged: Judgement
    valid: np.ndarray
    cost: np.ndarray


class EditSearch:
    """Edits of some valid calls; ``bases`` of them are tried per product and guard, the cheapest
    first.
    """

    def __init__(self, compiled: CompiledPlan, valid: ValidCalls, bases: int) -> None:
        self.spec = compiled.spec
        self.compiled = compiled
        self.valid = valid
        self.bases = bases
        self.collected = EditCollector()
        nothing = valid.judged.take(np.zeros(0, dtype=np.int64))
        self.edited = EditedCalls(nothing, self.collected.table())
        self.guards = [
            (r, g) for r, rule in enumerate(self.spec.rules) for g in range(len(rule.guards))
        ]

    def run(self) -> None:
        """Edit valid calls, then what came of that, as long as it leads on."""
        self.edit_valid()
        self.edit_again()
        for _ in range(MOST_EDITS):
            if not self.edit_towards():
                break

    def rule(self, number: int) -> tuple[Rule, Guard]:
        r, g = self.guards[number]
        return self.spec.rules[r], self.spec.rules[r].guards[g]

    # rounds ---------------------------------------------------------------------------------------
    def edit_valid(self) -> None:
        """The first round: edits of valid calls for every guard that applies to one."""
        judged = self.valid.judged
        generator = EditGenerator(judged)
        for number in range(len(self.guards)):
            guard = self.rule(number)[1]
            for base in self._bases(guard.applies(judged.view, len(judged.table))):
                for edits in generator.edits(guard, base):
                    for mode in generator.modes(edits):
                        self.collected.add(base, edits, mode)
        self._judge_new()

    def edit_again(self) -> None:
        """The second round: the best calls that break a rule only with others lose the others."""
        starts: list[Start] = []
        for number, (r, _) in enumerate(self.guards):
            rule = self.rule(number)[0]
            broken = self.breaking(number) if rule.forbids else np.zeros(0, dtype=np.int64)
            weight = self.side_weight(number, broken)
            if len(broken) and weight.min() > 0:
                for row in self._lightest(broken, weight):
                    others = [
                        i for i in np.flatnonzero(self.edited.judged.broken[:, row]) if i != r
                    ]
                    guards = [guard for i in others for guard in self.spec.rules[i].guards]
                    starts += [
                        (row, partial(step, guard))
                        for guard in guards
                        for step in (_turning, _dropping)
                    ]
        self._edit(starts)

    def edit_towards(self) -> bool:
        """One more round for rules that nothing breaks yet: what they ask before they apply is made
        true one by one, in calls that may be broken already. False where there is nothing left to
        try.
        """
        starts: list[Start] = []
        for number in range(len(self.guards)):
            rule, guard = self.rule(number)
            if not rule.forbids or unreachable(rule, self.spec) or len(self.breaking(number)):
                continue
            asked = [terms.condition(text, self.spec.scope) for text in conjuncts(guard)]
            held = np.array(
                [true_where(term, self.edited.judged.view, len(self.edited)) for term in asked]
            ).reshape(len(asked), len(self.edited))
            bound = np.broadcast_to(
                np.asarray(guard.require.read(self.edited.judged.view).bound, dtype=bool),
                len(self.edited),
            )
            for row in self._lightest(
                np.arange(len(self.edited)), self.edited.weight, -held.sum(axis=0) - 1.5 * bound
            ):
                missing = [
                    term for term, there in zip(asked, held[:, row], strict=True) if not there
                ]
                steps = [partial(_towards, term.refs) for term in missing] or [
                    partial(_turning, guard)
                ]
                starts += [(row, step) for step in steps]
        return self._edit(starts)

    def _edit(self, starts: list[Start]) -> bool:
        """Edit calls that came of an earlier round; False where no new call came of it."""
        rows = np.array(sorted({row for row, _ in starts}), dtype=np.int64)
        if not len(rows):
            return False
        generator = EditGenerator(self.edited.judged.take(rows))
        made, before = self.edited.edits, len(self.edited)
        for row, step in starts:
            base, mode = int(made.base[row]), int(made.mode[row])
            for edits in step(generator, int(np.searchsorted(rows, row))):
                both = [*made.of(row), *edits]
                for follows in dict.fromkeys((mode, *generator.modes(both))):
                    self.collected.add(base, both, follows)
        self._judge_new()
        return len(self.edited) > before

    def _bases(self, usable: np.ndarray) -> list[int]:
        """The cheapest of the usable valid rows of each product, spread a little."""
        order = np.argsort(self.valid.cost, kind="stable")
        ordered = order[(usable & self.valid.valid)[order]]
        products = self.valid.judged.table.product
        bases: list[int] = []
        for product in np.unique(products[self.valid.valid]):
            rows = ordered[products[ordered] == product]
            spread = np.linspace(0, len(rows) - 1, min(self.bases, len(rows)))
            bases += rows[np.unique(spread.astype(int))].tolist()
        return bases

    def _lightest(self, rows: np.ndarray, *keys: np.ndarray) -> list[int]:
        """The rows of each product with the least keys, two at most; the last key counts first, the
        size last.
        """
        ordered = rows[np.lexsort((self.edited.size[rows], *keys))]
        products = self.edited.judged.table.product[ordered]
        return [
            int(row) for product in np.unique(products) for row in ordered[products == product][:2]
        ]

    def _judge_new(self) -> None:
        new = self.collected.table(len(self.edited))
        if not len(new):
            return
        valid = self.valid
        builder = self.compiled.builder(
            valid.levels[new.base], Overlay(new.columns(), valid.builder, new.base, new.mode)
        )
        judged = Judgement.concatenate([self.edited.judged, judge(self.spec, builder.table())])
        self.edited = EditedCalls(judged, self.collected.table())

    # what came of them ----------------------------------------------------------------------------
    def breaking(self, number: int) -> np.ndarray:
        """The rows that break one guard."""
        rule, guard = self.rule(number)
        broken = self.edited.judged.broken[self.guards[number][0]] & self.edited.representable
        return np.flatnonzero(
            broken
            if len(rule.guards) == 1
            else broken & guard.broken(self.edited.judged.view, len(self.edited))
        )

    def side_weight(self, number: int, rows: np.ndarray) -> np.ndarray:
        """(rows,) int: how much else rows break that break the rule of a guard, 0 where it is
        isolated; an extent below 0 counts where others break the rule without one.
        """
        others = self.edited.weight[rows] - weight_of(self.rule(number)[0])
        fit = self.edited.possible[rows]
        return np.asarray(others + LAST_RESORT * ((others > 0) & ~fit & fit.any()))

    def parts(self, row: int) -> Iterator[tuple[int, list[Edit], int]]:
        """(base, edits, mode) of the calls between a legal call and one that came of several
        edits.
        """
        made = self.edited.edits
        for edits in one_left_out(made.of(row)):
            yield int(made.base[row]), edits, int(made.mode[row])

    def nearest(self, rows: Iterable[int]) -> dict[int, int]:
        """Row -> a legal row with one edit less, where there is one: nearer than the call that all
        edits started from.
        """
        asked = {row: [self.collected.add(*part) for part in self.parts(row)] for row in rows}
        self._judge_new()
        valid = {row: [p for p in places if self.edited.valid[p]] for row, places in asked.items()}
        return {
            row: min(places, key=lambda p: self.edited.size[p])
            for row, places in valid.items()
            if places
        }

    def merged(self, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """(one row, another) -> the row with the edits of both, on the base and with the mode of
        the first.
        """
        made = self.edited.edits
        asked = {
            (a, b): self.collected.add(
                int(made.base[a]), [*made.of(a), *made.of(b)], int(made.mode[a])
            )
            for a, b in pairs
        }
        self._judge_new()
        return {
            pair: place
            for pair, place in asked.items()
            if place >= 0 and self.edited.representable[place]
        }
