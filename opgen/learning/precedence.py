"""Which of several broken rules answers: what calls say that break more than one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from opgen.calls.factorize import by_key
from opgen.learning.lesson import OPEN, Finding, Lesson, returns, said_by
from opgen.learning.splitting import LEAST
from opgen.learning.statuses import code
from opgen.model import ANY_ERROR
from opgen.oracle.as_page import phase
from opgen.spec.rules import Rule

COMPARED = {"dtype", "format", "rank", "shape"}
"""What a rule may compare of several parameters."""
NOTHING = 10**6
"""The turn of a rule that a call does not break."""


def kind(rule: Rule) -> object:
    """What rules have in common that say the same of several parameters: a key, or the one thing
    that they compare.
    """
    return rule.key or (f"= {subject(rule)}" if subject(rule) in COMPARED else rule.id)


def subject(rule: Rule) -> object:
    """What a rule is about: a key, or the one thing that it compares; its own id where it is about
    several.
    """
    compared = {what for guard in rule.guards for _, what in guard.require.refs}
    return rule.key or (compared.pop() if len(compared) == 1 and compared <= COMPARED else rule.id)


def answering(rules: Sequence[Rule], said: np.ndarray, status: np.ndarray) -> np.ndarray:
    """(rules, rows) bool: the rule returns the status of the call; what it returns is ``said``."""
    left = np.array([said_by(rule, status) for rule in rules]).reshape(said.shape)
    return np.asarray(np.where(said == OPEN, left, said == status))


def ordered(lesson: Lesson) -> Lesson:
    """The same, with what calls say of the order of checks."""
    order = _Order(lesson)
    early, late = order.learn()
    beside = tuple(order.beside())
    return replace(lesson, findings=(*lesson.findings, *beside), early=early, late=late)


class _Order:
    def __init__(self, lesson: Lesson) -> None:
        returned = lesson.returned
        said = returns(returned.judgement, lesson.findings)
        broken = returned.judgement.broken & (said != 0)
        several = (broken.sum(axis=0) > 1) & returned.firm & (returned.status != 0)
        self.rows = np.flatnonzero(several)
        self.rules: Sequence[Rule] = returned.spec.rules
        self.said, self.broken = said[:, self.rows], broken[:, self.rows]
        self.status = returned.status[self.rows]
        self.admitted = returned.admitted[self.rows]
        self.right = answering(self.rules, self.said, self.status)
        numbers = np.unique(self.said)
        phases = [phase((ANY_ERROR if s == OPEN else code(s),)) for s in numbers.tolist()]
        rank = np.array([sorted(set(phases)).index(each) for each in phases], dtype=np.int64)
        self.rank = rank[np.searchsorted(numbers, self.said)] if len(numbers) else self.said
        silent = np.array([[not rule.forbids] for rule in self.rules])
        self.rank = np.where(silent & (self.said == OPEN), len(numbers), self.rank)
        self.turn = np.zeros((len(self.rules), 1), dtype=np.int64)

    def answers(self, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(the rule that answers, whether with what was returned), (rows,) each."""
        key = np.where(self.broken, self.rank + turn * (NOTHING // 10), NOTHING)
        first = key.argmin(axis=0)
        return first, self.right[first, np.arange(len(first))]

    def learn(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The rules that are checked before, and after, all others, where calls need it whose
        status the page admits, and none contradicts it.
        """
        kinds = by_key((kind(rule), i) for i, rule in enumerate(self.rules))
        while len(self.rows):
            first, right = self.answers(self.turn)
            wrong = np.flatnonzero(~right & self.admitted)
            earlier = np.flatnonzero((self.broken & self.right)[:, wrong].any(axis=1))
            moves = [(i, -1) for i in earlier.tolist()]
            moves += [(i, 1) for i in np.unique(first[wrong]).tolist()]
            best = LEAST - 1, self.turn
            for i, way in sorted(moves):
                for group in ([i], kinds[kind(self.rules[i])]):
                    turn = self.turn.copy()
                    turn[group] = way
                    now = self.answers(turn)[1]
                    gain = int((now & ~right).sum())
                    if gain > best[0] and not (right & ~now).any():
                        best = gain, turn
            if best[1] is self.turn:
                break
            self.turn = best[1]
        early, late = (
            tuple(
                rule.id
                for rule, turn in zip(self.rules, self.turn[:, 0], strict=True)
                if turn == way
            )
            for way in (-1, 1)
        )
        return early, late

    def beside(self) -> Iterator[Finding]:
        """Where two rules are broken and the page admits no such status: one rule, and those beside
        which it is answered so.
        """
        left = ~self.answers(self.turn)[1] & ~self.admitted if len(self.rows) else np.zeros(0, bool)
        together = self.broken.astype(np.float32)
        for status in np.unique(self.status[left]).tolist():
            same = self.status == status
            others = together[:, ~same] @ together[:, ~same].T
            while True:
                mine = left & same
                pure = (others == 0) & (together[:, mine] @ together[:, mine].T > 0)
                np.fill_diagonal(pure, False)
                hits = self.broken & ((pure @ together) > 0)
                count = (hits & mine).sum(axis=1) if len(hits) else np.zeros(1)
                i = int(count.argmax())
                if count[i] < LEAST:
                    break
                calls = tuple(self.rows[hits[i]].tolist())
                names = tuple(self.rules[j].id for j in np.flatnonzero(pure[i]).tolist())
                asked = len(calls)
                yield Finding((self.rules[i].id,), "", status, calls, asked, True, beside=names)
                left &= ~hits[i]
