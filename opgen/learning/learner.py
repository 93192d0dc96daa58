"""What statuses say of the rules of a page, and of calls that break none.

A call decides a rule where it breaks no other rule that the library is known to enforce, or where
it was accepted. What is learnt of one rule makes more calls decide others, so rules are gone over
until nothing changes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from opgen.learning.conditions import Feature, features
from opgen.learning.splitting import LEAST, split
from opgen.learning.statuses import DIED, Returned
from opgen.model import of_a_check
from opgen.oracle.judgement import Judgement
from opgen.spec.language.parse import condition
from opgen.spec.rules import Rule, true_where

Became: TypeAlias = Literal[
    "confirmed", "not enforced", "another code", "crash", "mixed", "not seen"
]
AS_THE_PAGE = -2
"""The outcome of a call whose status the page admits because of the rule."""
PASSES = 6
"""How often the rules are gone over, at most."""


@dataclass(frozen=True)
class Finding:
    """What the library does where ``when`` holds and one of ``rules`` is broken; without rules, to
    calls that break none. ``calls`` are the positions of those that show it, ``against`` of those
    that contradict it: a finding with too few calls, or with any against it, is a hint.

    ``differs``: the page does not admit the status.
    """

    rules: tuple[str, ...]
    when: str
    status: int
    calls: tuple[int, ...]
    asked: int
    differs: bool
    against: tuple[int, ...] = ()

    @property
    def hint(self) -> bool:
        return len(self.calls) < LEAST or bool(self.against)


@dataclass(frozen=True)
class RuleOutcome:
    """What became of a rule: the statuses that the calls which decide it returned, and the position
    of each such call.
    """

    rule: Rule
    became: Became
    returned: Counter[int]
    calls: np.ndarray


@dataclass(frozen=True)
class Lesson:
    """What the calls of one page taught."""

    returned: Returned
    outcomes: tuple[RuleOutcome, ...]
    findings: tuple[Finding, ...]

    @property
    def entries(self) -> tuple[Finding, ...]:
        """The findings that evidence carries."""
        return tuple(each for each in self.findings if not each.hint)

    @property
    def hints(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.hint)


def learn(returned: Returned) -> Lesson:
    """Go over the rules of a page until nothing changes."""
    learner = _Learner(returned)
    findings: tuple[Finding, ...] = ()
    for _ in range(PASSES):
        before, findings = findings, learner.findings(findings)
        if findings == before:
            break
    return Lesson(returned, tuple(learner.outcomes()), findings)


def said_by(rule: Rule, status: np.ndarray) -> np.ndarray:
    """(rows,) bool: a page that says only this rule admits the status of a call that breaks it."""
    checked = np.array([of_a_check(s) for s in status.tolist()], dtype=bool)
    if rule.code is not None:
        return np.asarray(status == rule.code)
    return checked if rule.forbids else checked | (status == 0)


def holding(judgement: Judgement, finding: Finding) -> np.ndarray:
    """(rows,) bool: where the condition of a finding holds."""
    when = condition(finding.when, judgement.spec.scope) if finding.when else None
    return true_where(when, judgement.view, len(judgement.table))


def enforced(judgement: Judgement, known: Iterable[Finding]) -> np.ndarray:
    """(rules, rows) bool: broken, and not let pass for all that is ``known``."""
    result = judgement.broken.copy()
    position = {rule.id: i for i, rule in enumerate(judgement.spec.rules)}
    for finding in known:
        if finding.status == 0 and not finding.hint:
            held = holding(judgement, finding)
            for rule in finding.rules:
                result[position[rule]] &= ~held
    return result


class _Learner:
    def __init__(self, returned: Returned) -> None:
        self.returned = returned
        self.spec, self.judgement = returned.spec, returned.judgement
        self.status = returned.status
        self.position = {rule.id: i for i, rule in enumerate(self.spec.rules)}
        self.enforced = self.judgement.broken.copy()
        self.suspects = self.enforced
        self.blamed = np.zeros_like(self.enforced)

    @cached_property
    def features(self) -> list[Feature]:
        return features(self.judgement.view)

    # one pass -------------------------------------------------------------------------------------
    def findings(self, known: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """What the calls say, once what is ``known`` to be let pass counts as not broken."""
        self.enforced = enforced(self.judgement, known)
        self.suspects = self.enforced & self.returning(known)
        self.blame()
        pooled = _pooled(self.of_rules(), self.spec.rule)
        return (*map(self.extended, pooled), *self.of_none())

    def returning(self, known: tuple[Finding, ...]) -> np.ndarray:
        """(rules, rows) bool: for all that is known, the rule returns the status of the call."""
        result = np.array([said_by(rule, self.status) for rule in self.spec.rules])
        for finding in sorted(known, key=lambda each: bool(each.when)):
            if finding.status != 0 and not finding.hint:
                held = holding(self.judgement, finding)
                for rule in finding.rules:
                    i = self.position[rule]
                    result[i] = np.where(held, self.status == finding.status, result[i])
        return np.asarray(result | (self.status == DIED))

    def deciding(self, i: int) -> np.ndarray:
        """The calls that decide a rule: no other that they break returns what they returned, or
        they were accepted, or were refused because of this rule for all that is known.
        """
        others = self.suspects.sum(axis=0) - self.suspects[i]
        alone = self.judgement.broken[i] & ((others == 0) | (self.status == 0))
        return np.flatnonzero((alone | self.blamed[i]) & self.returned.firm)

    def blame(self) -> None:
        """Calls that were refused though all that they break is believed to be let pass: because of
        a rule that no call breaks alone and passes.
        """
        broken = self.judgement.broken
        alone = broken.sum(axis=0) == 1
        passes = (broken & (alone & (self.status == 0))).any(axis=1)
        strange = (self.status != 0) & ~self.enforced.any(axis=0)
        self.blamed |= broken & strange & ~passes[:, None]

    # rules ----------------------------------------------------------------------------------------
    def of_rules(self) -> Iterator[Finding]:
        for i, rule in enumerate(self.spec.rules):
            if len(rows := self.deciding(i)):
                yield from self.of_rule(rule, rows)

    def extended(self, finding: Finding) -> Finding:
        """What holds for a key of several parameters, whatever the call, holds for that key of
        those that no call decides, too.
        """
        keys = {self.spec.rule[rule].key for rule in finding.rules}
        if finding.hint or finding.when or len(finding.rules) < 2 or len(keys) > 1 or None in keys:
            return finding
        alike = [i for i, rule in enumerate(self.spec.rules) if rule.key in keys]
        spoken = {self.spec.rules[i].id for i in alike if len(self.deciding(i))}
        if not spoken <= set(finding.rules):
            return finding
        return replace(finding, rules=tuple(self.spec.rules[i].id for i in alike))

    def of_rule(self, rule: Rule, rows: np.ndarray) -> Iterator[Finding]:
        status = self.status[rows]
        outcome = np.where(said_by(rule, status), AS_THE_PAGE, status) if rule.forbids else status
        numbers, counts = np.unique(outcome, return_counts=True)
        usual = int(numbers[counts.argmax()]) if not rule.forbids else AS_THE_PAGE
        if len(numbers) == 1:
            yield from self.uniform(rule, rows, int(numbers[0]))
            return
        explained = outcome == usual
        related = {name for name, _ in rule.refs} | {rule.parameter or ""}
        for part in split(self.features, rows, outcome, usual, related):
            explained |= part.rows
            calls = tuple(rows[part.rows].tolist())
            differs = not said_by(rule, np.array([part.status]))[0]
            yield Finding((rule.id,), part.when, part.status, calls, len(rows), differs)
        if explained.all() and not rule.forbids:
            yield from self.uniform(rule, rows[outcome == usual], usual)
        for number in np.unique(outcome[~explained]).tolist():
            calls = tuple(rows[~explained & (outcome == number)].tolist())
            against = tuple(rows[outcome != number].tolist())
            yield Finding((rule.id,), "", number, calls, len(rows), True, against)

    def uniform(self, rule: Rule, rows: np.ndarray, outcome: int) -> Iterator[Finding]:
        """Every call returned the same, or what the page says of the rule."""
        statuses = np.unique(self.status[rows])
        if rule.code is not None and outcome == AS_THE_PAGE or len(statuses) > 1:
            return
        status = int(statuses[0])
        differs = not said_by(rule, statuses)[0]
        yield Finding((rule.id,), "", status, tuple(rows.tolist()), len(rows), differs)

    # calls that break nothing ---------------------------------------------------------------------
    def of_none(self) -> Iterator[Finding]:
        free = ~self.enforced.any(axis=0) & ~self.blamed.any(axis=0)
        rows = np.flatnonzero(free & self.returned.firm)
        outcome = self.status[rows]
        refused = outcome != 0
        if not refused.any():
            return
        explained = ~refused
        for part in split(self.features, rows, outcome, 0):
            explained |= part.rows
            calls = tuple(rows[part.rows].tolist())
            yield Finding((), part.when, part.status, calls, int(refused.sum()), True)
        for number in np.unique(outcome[~explained]).tolist():
            calls = tuple(rows[~explained & (outcome == number)].tolist())
            yield Finding((), "", number, calls, len(rows), True, tuple(rows[~refused].tolist()))

    # the table ------------------------------------------------------------------------------------
    def outcomes(self) -> Iterator[RuleOutcome]:
        for i, rule in enumerate(self.spec.rules):
            rows = self.deciding(i)
            status = self.status[rows]
            yield RuleOutcome(rule, _became(rule, status), Counter(status.tolist()), rows)


def _became(rule: Rule, status: np.ndarray) -> Became:
    if not len(status):
        return "not seen"
    refused = status != 0
    if rule.forbids and said_by(rule, status).all() or (not rule.forbids and refused.all()):
        return "crash" if (status == DIED).all() else "confirmed"
    if not refused.any():
        return "not enforced"
    if (status == DIED).all():
        return "crash"
    return "another code" if refused.all() and len(np.unique(status)) == 1 else "mixed"


def _pooled(findings: Iterator[Finding], rules: dict[str, Rule]) -> Iterator[Finding]:
    """Findings that say the same of one key of several parameters, as one; and those that only name
    the code that a page leaves open.
    """
    alike: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for place, finding in enumerate(findings):
        rule = rules[finding.rules[0]]
        settled = not finding.differs and not finding.when
        alone = finding.against or (rule.key is None and not settled)
        key = (place if alone else -1, "" if settled else rule.key)
        alike[key, finding.when, finding.status, finding.differs].append(finding)
    for group in alike.values():
        first = group[0]
        if len(group) > 1:
            calls = tuple(sorted({call for each in group for call in each.calls}))
            ids = tuple(rule for each in group for rule in each.rules)
            asked = sum(each.asked for each in group)
            yield replace(first, rules=ids, calls=calls, asked=max(len(calls), asked))
        else:
            yield first
