"""Edited calls, judged: which of them break a rule alone, which stand at a limit, which break two
rules.

Edits are made in rounds. The first edits legal calls; the next edit what came of it, where a rule
was only broken in company, or applies to no legal call at all. Every row is labelled by the oracle
after its last edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from opgen.oracle.judgement import Judgement, judge
from opgen.spec.language import terms
from opgen.spec.language.terms import Reference
from opgen.spec.rules import Guard, Rule, holds
from opgen.suite.enumeration.breaker import Breaker
from opgen.suite.enumeration.made import LAST_RESORT, Made, weight_of
from opgen.suite.enumeration.reasons import conjuncts, unreachable
from opgen.suite.planning.choices import Choices
from opgen.suite.planning.draft import Draft
from opgen.suite.planning.edits import Edits
from opgen.suite.planning.proposals import Collector, Edit, alone

Start: TypeAlias = tuple[int, Callable[[Breaker, int], Iterable[Sequence[Edit]]]]
"""An edited call, and what may be edited in it next."""


def _turning(guard: Guard, breaker: Breaker, row: int) -> Iterable[Sequence[Edit]]:
    return breaker.edits(guard, row)


def _dropping(guard: Guard, breaker: Breaker, row: int) -> Iterable[Sequence[Edit]]:
    return breaker.dropping(guard)


def _towards(
    references: Sequence[Reference], breaker: Breaker, row: int
) -> Iterable[Sequence[Edit]]:
    return breaker.any_of(references, row)


class Edited:
    """The edits of some legal calls. ``rows`` are their choices, ``draft`` and ``legal`` the calls,
    ``cost`` what they hold; ``bases`` of them are tried per product and guard, the cheapest
    first.
    """

    def __init__(
        self,
        choices: Choices,
        rows: np.ndarray,
        draft: Draft,
        legal: Judgement,
        cost: np.ndarray,
        bases: int,
    ) -> None:
        self.spec = choices.spec
        self.choices = choices
        self.rows = rows
        self.draft = draft
        self.legal = legal
        self.bases = bases
        self.order = np.argsort(cost, kind="stable")
        self.collected = Collector()
        self.made = Made(self.spec, [], self.collected.proposals())
        self.guards = [
            (r, g) for r, rule in enumerate(self.spec.rules) for g in range(len(rule.guards))
        ]

    def rule(self, number: int) -> tuple[Rule, Guard]:
        r, g = self.guards[number]
        return self.spec.rules[r], self.spec.rules[r].guards[g]

    # rounds ---------------------------------------------------------------------------------------
    def edit_legal(self) -> None:
        """The first round: edits of legal calls for every guard that applies to one."""
        breaker = Breaker(self.legal)
        for number in range(len(self.guards)):
            guard = self.rule(number)[1]
            for base in self._bases(
                guard.applies(self.legal.view, len(self.rows)) & self.legal.valid
            ):
                for edits in breaker.edits(guard, base):
                    for mode in breaker.modes(edits):
                        self.collected.add(base, edits, mode)
        self._judge_new()

    def edit_again(self) -> None:
        """The second round: the best calls that break a rule in company lose that company."""
        starts: list[Start] = []
        for number, (r, _) in enumerate(self.guards):
            rule = self.rule(number)[0]
            broken = self.breaking(number) if rule.forbids else np.zeros(0, dtype=np.int64)
            burden = self.burden(number, broken)
            if len(broken) and burden.min() > 0:
                for row in self._lightest(broken, burden):
                    others = [i for i in np.flatnonzero(self.made.judged.broken[:, row]) if i != r]
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
                [holds(term, self.made.judged.view, len(self.made)) for term in asked]
            ).reshape(len(asked), len(self.made))
            bound = np.broadcast_to(
                np.asarray(guard.require.read(self.made.judged.view).bound, dtype=bool),
                len(self.made),
            )
            for row in self._lightest(
                np.arange(len(self.made)), self.made.weight, -held.sum(axis=0) - 1.5 * bound
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
        breaker, made, before = (
            Breaker(judge(self.spec, self.made.judged.table.take(rows))),
            self.made.proposals,
            len(self.made),
        )
        for row, step in starts:
            base, mode, first = int(made.base[row]), int(made.mode[row]), made.of(row)
            for edits in step(breaker, int(np.searchsorted(rows, row))):
                both = [*first, *edits]
                for one in dict.fromkeys((mode, *breaker.modes(both))):
                    self.collected.add(base, both, one)
        self._judge_new()
        return len(self.made) > before

    def _bases(self, usable: np.ndarray) -> list[int]:
        """The cheapest of the usable legal rows of each product, spread a little."""
        found: list[int] = []
        ordered = self.order[usable[self.order]]
        products = self.legal.table.product[ordered]
        for product in np.unique(self.legal.table.product):
            rows = ordered[products == product]
            found += [
                int(rows[i])
                for i in np.unique(
                    np.linspace(0, len(rows) - 1, min(self.bases, len(rows))).astype(int)
                )
            ]
        return found

    def _lightest(self, rows: np.ndarray, *keys: np.ndarray) -> list[int]:
        """The rows of each product with the least keys, two at most; the last key counts first, the
        size last.
        """
        ordered = rows[np.lexsort((self.made.size[rows], *keys))]
        products = self.made.judged.table.product[ordered]
        return [
            int(row) for product in np.unique(products) for row in ordered[products == product][:2]
        ]

    def _judge_new(self) -> None:
        start = len(self.made)
        made = self.collected.proposals(start)
        if not len(made):
            return
        draft = self.choices.draft(
            self.rows[made.base], Edits(made.edits(), self.draft, made.base, made.mode)
        )
        self.made = Made(
            self.spec,
            [*self.made.rounds, judge(self.spec, draft.table())],
            self.collected.proposals(),
        )

    # what came of them ----------------------------------------------------------------------------
    def breaking(self, number: int) -> np.ndarray:
        """The rows that break one guard."""
        rule, guard = self.rule(number)
        broken = self.made.judged.broken[self.guards[number][0]] & self.made.representable
        return np.flatnonzero(
            broken
            if len(rule.guards) == 1
            else broken & guard.broken(self.made.judged.view, len(self.made))
        )

    def burden(self, number: int, rows: np.ndarray) -> np.ndarray:
        """(rows,) int: the company in which rows break the rule of a guard, 0 where they break it
        alone; an extent below 0 is part of the company where others break the rule without one.
        """
        others = self.made.weight[rows] - weight_of(self.rule(number)[0])
        fit = self.made.possible[rows]
        return np.asarray(others + LAST_RESORT * ((others > 0) & ~fit & fit.any()))

    def parts(self, row: int) -> Iterator[tuple[int, list[Edit], int]]:
        """(base, edits, mode) of the calls between a legal call and one that came of several
        edits.
        """
        made = self.made.proposals
        for edits in alone(made.of(row)):
            yield int(made.base[row]), edits, int(made.mode[row])

    def nearest(self, rows: Iterable[int]) -> dict[int, int]:
        """Row -> a legal row with one edit less, where there is one: nearer than the call that all
        edits started from.
        """
        asked = {row: [self.collected.add(*part) for part in self.parts(row)] for row in rows}
        self._judge_new()
        legal = self.made.legal
        found = {row: [place for place in places if legal[place]] for row, places in asked.items()}
        return {
            row: min(places, key=lambda p: self.made.size[p])
            for row, places in found.items()
            if places
        }

    def merged(self, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """(one row, another) -> the row with the edits of both, on the base and with the mode of
        the first.
        """
        made = self.made.proposals
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
            if place >= 0 and self.made.representable[place]
        }
