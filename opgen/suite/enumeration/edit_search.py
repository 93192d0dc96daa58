"""The search for edits of valid calls that break each rule, if possible no other.

Edits are made in rounds. The first edits valid calls; the next edit what came of it, where a rule
was only broken with others, or applies to no valid call at all. Every row is judged once, after
its last edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from opgen.calls.factorize import by_key
from opgen.oracle.judgement import judge
from opgen.spec.language import parse
from opgen.spec.rules import Guard, Rule, true_where
from opgen.suite.enumeration.edit_generator import EditGenerator
from opgen.suite.enumeration.edited_calls import LAST_RESORT, EditedCalls
from opgen.suite.enumeration.proposals import Proposal
from opgen.suite.enumeration.reasons import applies_once_asked, conjuncts, unreachable
from opgen.suite.enumeration.valid_calls import ValidCalls
from opgen.suite.planning.compiled_plan import CompiledPlan
from opgen.suite.planning.edits import FOLLOW, FREEZE, HOLD, MOST_EDITS, NO_EDIT, EditTable
from opgen.suite.planning.overlay import Overlay

Step: TypeAlias = Callable[[EditGenerator, np.ndarray], Iterable[Proposal]]
"""What may be edited next in some rows."""
_TENSORS = 2
"""Tensors of a list that calls are made for, where a rule says the same of each."""
_MODES = 4
"""What follows from an edit: the mode of the row that is edited, and each of the three."""


class EditSearch:
    """Edits of some valid calls; ``bases`` of them are tried per product and guard, the cheapest
    first.
    """

    def __init__(self, compiled: CompiledPlan, valid: ValidCalls, bases: int) -> None:
        self.spec = compiled.spec
        self.compiled = compiled
        self.valid = valid
        self.bases = bases
        nothing = np.zeros(0, dtype=np.int64)
        self.edits = EditTable.unedited(0)
        self.edited = EditedCalls(valid.judged.take(nothing), self.edits)
        self.guards = [
            (r, guard) for r, rule in enumerate(self.spec.rules) for guard in self._tried(rule)
        ]

    def _tried(self, rule: Rule) -> list[Guard]:
        """The guards of a rule that calls are made for: of those that say the same of each tensor
        of a list, the first that apply to a valid call.
        """
        view, rows = self.valid.judged.view, len(self.valid)
        of_lists = [
            guard
            for guard in rule.guards
            if any(
                self.spec.parameters[name].of
                for name, _ in guard.require.refs
                if name in self.spec.parameters
            )
        ]
        applying = [g for g in of_lists if (g.applies(view, rows) & self.valid.valid).any()]
        kept = (applying or of_lists)[:_TENSORS]
        return [guard for guard in rule.guards if guard not in of_lists or guard in kept]

    def run(self) -> None:
        """Edit valid calls, then what came of that, as long as it leads on."""
        self.edit_valid()
        self.edit_again()
        for _ in range(MOST_EDITS):
            if not self.edit_towards():
                break

    # rounds ---------------------------------------------------------------------------------------
    def edit_valid(self) -> None:
        """The first round: edits of valid calls for every guard that applies to one."""
        judged = self.valid.judged
        starts: list[tuple[int, Step]] = []
        for r, guard in self.guards:
            step = partial(EditGenerator.turning, guard=guard)
            bases = self.valid.bases(
                applies_once_asked(guard, judged.view, len(judged.table)), self.bases
            )
            starts += [(base, step) for base in bases]
            if self.spec.rules[r].forbids and self.valid.lacks_exempt(guard):
                step = partial(EditGenerator.turning, guard=guard.unconditional)
                starts += [(base, step) for base in self.valid.left_out(guard)]
        self._edit(starts, EditedCalls(judged, EditTable.unedited(len(judged.table))))

    def edit_again(self) -> None:
        """The second round: the best calls that break a rule only with others lose the others."""
        steps: list[list[Step]] = [
            [
                partial(step, guard=guard)
                for guard in rule.guards
                for step in (EditGenerator.turning, EditGenerator.dropping)
            ]
            for rule in self.spec.rules
        ]
        starts: list[tuple[int, Step]] = []
        for r, guard in self.guards:
            broken = self.edited.breaking(r, guard)
            weight = self.edited.side_weight(r, broken)
            if self.spec.rules[r].forbids and weight.min(initial=LAST_RESORT) > 0:
                for row in self.edited.lightest(broken, weight):
                    others = np.flatnonzero(self.edited.judged.broken[:, row])
                    starts += [(row, step) for i in others if i != r for step in steps[i]]
        self._edit(starts, self.edited)

    def edit_towards(self) -> bool:
        """One more round for rules that nothing breaks yet: what they ask before they apply is made
        true one by one, in calls that may be broken already. False where there is nothing left to
        try.
        """
        starts: list[tuple[int, Step]] = []
        for r, guard in self.guards:
            rule = self.spec.rules[r]
            if (
                not rule.forbids
                or unreachable(rule, self.spec)
                or len(self.edited.breaking(r, guard))
            ):
                continue
            turns = partial(EditGenerator.turning, guard=guard)
            asked = [parse.condition(text, self.spec.scope) for text in conjuncts(guard)]
            makes = [partial(EditGenerator.towards, references=term.refs) for term in asked]
            held = [true_where(term, self.edited.judged.view, len(self.edited)) for term in asked]
            bound = np.broadcast_to(
                np.asarray(guard.require.read(self.edited.judged.view).bound, dtype=bool),
                len(self.edited),
            )
            for row in self.edited.lightest(
                np.arange(len(self.edited)), self.edited.weight, -sum(held) - 1.5 * bound
            ):
                missing = [step for step, holds in zip(makes, held, strict=True) if not holds[row]]
                starts += [(row, step) for step in missing or [turns]]
        return self._edit(starts, self.edited)

    def _edit(self, starts: Sequence[tuple[int, Step]], calls: EditedCalls) -> bool:
        """Edit rows of some calls, all that take the same step at once; False where no new call
        came of it.
        """
        if not starts:
            return False
        rows, place = np.unique([row for row, _ in starts], return_inverse=True)
        generator = EditGenerator(calls.judged.take(rows))
        alike = by_key((step, i) for i, (_, step) in enumerate(starts))
        start = [np.zeros(0, dtype=np.int64)]
        changes = [self.edits.numbered((), 0)]
        for step, members in alike.items():
            own = np.array(members)
            for places, edits in step(generator, place[own]):
                if len(edits) <= MOST_EDITS:
                    start.append(own[places])
                    changes.append(self.edits.numbered(edits, len(places)))
        order = np.argsort(np.concatenate(start), kind="stable")
        row = rows[place[np.concatenate(start)[order]]]
        both = np.concatenate([calls.edits.changes[row], np.concatenate(changes)[order]], axis=1)
        before = len(self.edited)
        self._add(
            calls.edits.base[row].repeat(_MODES),
            self._modes(calls.edits.mode[row], both).ravel(),
            both.repeat(_MODES, axis=0),
        )
        return len(self.edited) > before

    def _modes(self, mode: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """(rows, modes): what may follow from some edits beside what did: an attribute can stand
        alone; a letter or slot only shows in what follows.
        """
        own = [what != "" or name in self.spec.parameters for name, what in self.edits.targets]
        alone = np.array([*own, True])[changes[..., 0]].all(axis=1)
        follow, hold = np.full(len(mode), FOLLOW), np.full(len(mode), HOLD)
        return np.stack([mode, follow, hold, np.where(alone, FREEZE, mode)], axis=1)

    def _add(self, base: np.ndarray, mode: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Make and judge edited calls; the row of each, -1 where it has no edits, or too many."""
        places = self.edits.add(base, mode, changes)
        new = len(self.edited)
        if len(self.edits) > new:
            base, mode = self.edits.base[new:], self.edits.mode[new:]
            overlay = Overlay(self.edits.columns(new), self.valid.builder, base, mode)
            table = self.compiled.builder(self.valid.levels[base], overlay).table()
            self.edited = self.edited.grown(judge(self.spec, table))
        return places

    # what came of them ----------------------------------------------------------------------------
    @property
    def moved(self) -> np.ndarray:
        """(rows,) bool: whether a row is for another product than the call that it started from."""
        home = self.valid.judged.table.product[self.edited.edits.base]
        return np.asarray(self.edited.judged.table.product != home)

    def home(self, own: np.ndarray) -> np.ndarray:
        """(rows,) int: the valid call that a row is nearest to, if no edited one is nearer: that
        from which it was made; where that is of another product, the one of its own product, among
        the calls ``own`` to a tier, that differs from it in the fewest values.
        """
        home = self.edited.edits.base.copy()
        products, there = self.valid.judged.table.product, self.edited.judged.table.product
        for row in np.flatnonzero(self.moved).tolist():
            like = own[products[own] == there[row]]
            if len(like):
                apart = self.valid.levels[like] != self.valid.levels[home[row]]
                home[row] = like[apart.sum(axis=1).argmin()]
        return home

    def nearest(self, invalid: Iterable[int]) -> dict[int, int]:
        """Row -> a legal row with one edit less, where there is one: nearer than the call that all
        edits started from.
        """
        rows = np.array(list(invalid), dtype=np.int64)
        parts = (
            self.edits.changes[rows].repeat(MOST_EDITS, axis=0).reshape(-1, *2 * [MOST_EDITS], 2)
        )
        parts[:, range(MOST_EDITS), range(MOST_EDITS)] = NO_EDIT
        base, mode = (
            column[rows].repeat(MOST_EDITS) for column in (self.edits.base, self.edits.mode)
        )
        places = self._add(base, mode, parts.reshape(-1, MOST_EDITS, 2))
        places = places.reshape(-1, MOST_EDITS)
        size = np.where((places >= 0) & self.edited.valid[places], self.edited.size[places], np.inf)
        best = places[np.arange(len(rows)), size.argmin(axis=1)]
        near = size.min(axis=1) < np.inf
        return dict(zip(rows[near].tolist(), best[near].tolist(), strict=True))

    def merged(self, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """(one row, another) -> the row with the edits of both, on the base and with the mode of
        the first.
        """
        asked = list(pairs)
        first, second = np.array(asked, dtype=np.int64).reshape(-1, 2).T
        both = np.concatenate([self.edits.changes[first], self.edits.changes[second]], axis=1)
        places = self._add(self.edits.base[first], self.edits.mode[first], both).tolist()
        return {
            pair: place
            for pair, place in zip(asked, places, strict=True)
            if place >= 0 and self.edited.representable[place]
        }
