"""What statuses say of the rules of a page, and of calls that break none.

What is learnt of one rule makes more calls decide others, so rules are gone over until nothing
changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from opgen.calls.factorize import by_key
from opgen.learning.deciding import Deciding
from opgen.learning.features import OWN
from opgen.learning.lesson import (
    Finding,
    Lesson,
    RuleOutcome,
    became,
    said_by,
)
from opgen.learning.pooling import pooled, together, widened
from opgen.learning.precedence import kind, ordered
from opgen.learning.shared_conditions import AS_THE_PAGE, OTHERS, Shares, names
from opgen.learning.splitting import LEAST, split
from opgen.learning.statuses import Returned
from opgen.spec.rules import Rule

PASSES = 6
"""How often the rules are gone over, at most."""


def learn(returned: Returned) -> Lesson:
    """Go over the rules of a page until nothing changes."""
    learner = _Learner(returned)
    findings: tuple[Finding, ...] = ()
    for _ in range(PASSES):
        before, findings = findings, learner.findings(findings)
        if findings == before:
            break
    return ordered(Lesson(returned, tuple(learner.outcomes()), findings))


class _Learner:
    def __init__(self, returned: Returned) -> None:
        self.returned = returned
        self.spec, self.judgement = returned.spec, returned.judgement
        self.status = returned.status
        self.deciding = Deciding(returned)
        self.decided: list[np.ndarray] = []
        self.shares = Shares(returned)

    # one pass -------------------------------------------------------------------------------------
    def findings(self, known: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """What the calls say, once what is ``known`` to be let pass counts as not broken."""
        self.decided = self.deciding.decided(known)
        found = self.shares.across(pooled(self.of_rules(), self.spec.rule))
        said = [self.extended(each) for each in found]
        wide = widened(said, self.returned, self.decided)
        return (*together(wide, self.spec.rule), *self.of_none())

    # rules ----------------------------------------------------------------------------------------
    def of_rules(self) -> Iterator[Finding]:
        alike = by_key(
            ((kind(rule), rule.code, rule.forbids), i) for i, rule in enumerate(self.spec.rules)
        )
        for group in alike.values():
            decided = {i: self.decided[i] for i in group if len(self.decided[i])}
            plain = {i for i, rows in decided.items() if self.is_plain(i, rows)}
            for i in plain:
                yield from self.of_alike((i,), decided)
            mixed = {i: rows for i, rows in decided.items() if i not in plain}
            silent = [] if plain else [i for i in group if i not in decided]
            if mixed:
                yield from self.of_alike(tuple(mixed), mixed, silent)

    def is_plain(self, i: int, rows: np.ndarray) -> bool:
        """Whether enough calls decide a rule, and all in the same way."""
        news = self.news(self.spec.rules[i], self.status[rows])
        return len(rows) >= LEAST and len(np.unique(news)) == 1

    def news(self, rule: Rule, status: np.ndarray) -> np.ndarray:
        """What calls returned that break a rule, or that its page admits it."""
        admitted = said_by(rule, status) & rule.forbids
        return np.asarray(np.where(admitted, AS_THE_PAGE, status))

    def extended(self, finding: Finding) -> Finding:
        """What holds for a key of several parameters, whatever the call, holds for that key of
        those that no call decides, too.
        """
        kinds = {kind(self.spec.rule[rule]) for rule in finding.rules}
        if finding.against or finding.when or len(finding.rules) < 2 or len(kinds) > 1:
            return finding
        alike = [i for i, rule in enumerate(self.spec.rules) if kind(rule) in kinds]
        spoken = {self.spec.rules[i].id for i in alike if len(self.decided[i])}
        if not spoken <= set(finding.rules):
            return finding
        return replace(finding, rules=tuple(self.spec.rules[i].id for i in alike))

    def of_alike(
        self, group: tuple[int, ...], decided: Mapping[int, np.ndarray], silent: Sequence[int] = ()
    ) -> Iterator[Finding]:
        """What rules of one kind have in common, by the calls that decide each; then what each has
        by itself. What all say holds for those of which no call speaks, the ``silent``.
        """
        rules = [self.spec.rules[i] for i in group]
        rows = np.concatenate([decided[i] for i in group])
        rule = np.repeat(np.arange(len(group)), [len(decided[i]) for i in group])
        news = self.news(rules[0], self.status[rows])
        yield from self.told_apart(rules, rows, rule, news, silent)
        admitted = news == AS_THE_PAGE
        if rules[0].code is None and admitted.any():
            codes = self.status[rows[admitted]]
            yield from self.told_apart(rules, rows[admitted], rule[admitted], codes, silent)

    def told_apart(
        self,
        rules: Sequence[Rule],
        rows: np.ndarray,
        rule: np.ndarray,
        outcome: np.ndarray,
        silent: Sequence[int],
    ) -> Iterator[Finding]:
        """What tells calls apart that break one of some rules and returned what ``outcome`` says,
        by conditions on all of the rules together, then on each by itself.
        """
        if len(np.unique(outcome)) == 1 and (len(rules) == 1 or len(np.unique(rows)) >= LEAST):
            yield from self.uniform(rules, rows, silent)
            return
        usual = _usual(outcome)
        explained = outcome == usual
        related = {OWN, *set.intersection(*map(names, rules))}
        related |= {rules[0].parameter or ""} if len(rules) == 1 else set()
        unheard = [self.spec.rules[i] for i in silent]
        for part in self.shares.told_apart(rules, rows, rule, outcome, usual, related):
            explained |= part.rows
            yield from self.shares.findings(rules, rows, rule, part, unheard)
        for i, each in enumerate(rules):
            mine = rule == i
            if mine.any():
                yield from self.of_rule(each, rows[mine], outcome[mine], explained[mine], usual)

    def of_rule(
        self, rule: Rule, rows: np.ndarray, outcome: np.ndarray, explained: np.ndarray, usual: int
    ) -> Iterator[Finding]:
        """What a rule has by itself, beside what is ``explained``, (rows,) bool."""
        related = names(rule) | {rule.parameter or ""}
        explained = explained.copy()
        mine = [rule], rows, np.zeros(len(rows), dtype=np.intp)
        for part in self.shares.told_apart(*mine, outcome, usual, related, explained):
            explained |= part.rows
            yield from self.shares.findings(*mine, part)
        own = _usual(outcome)
        if own != AS_THE_PAGE and not said_by(rule, outcome).any():
            calls = tuple(np.unique(rows[outcome == own]).tolist())
            yield Finding((rule.id,), "", own, calls, len(rows), True)
            explained |= outcome == own
        elif usual != AS_THE_PAGE and explained.all():
            yield from self.uniform([rule], rows[outcome == usual])
        elif usual != AS_THE_PAGE:
            for part in self.shares.told_apart(*mine, outcome, OTHERS, related, outcome != usual):
                yield from self.shares.findings(*mine, part)
        for number in np.unique(outcome[~explained]).tolist():
            calls = tuple(rows[~explained & (outcome == number)].tolist())
            against = tuple(rows[outcome != number].tolist())
            yield Finding((rule.id,), "", number, calls, len(rows), True, against)

    def uniform(
        self, rules: Sequence[Rule], rows: np.ndarray, silent: Sequence[int] = ()
    ) -> Iterator[Finding]:
        """Every call returned the same, and not the code that the page names."""
        statuses = np.unique(self.status[rows])
        if len(statuses) != 1 or statuses[0] == rules[0].code:
            return
        status, calls = int(statuses[0]), tuple(np.unique(rows).tolist())
        differs = not said_by(rules[0], statuses)[0]
        ids = (*(rule.id for rule in rules), *(self.spec.rules[i].id for i in silent))
        yield Finding(ids, "", status, calls, len(calls), differs)

    # calls that break nothing ---------------------------------------------------------------------
    def of_none(self) -> Iterator[Finding]:
        free = self.deciding.free
        rows = np.flatnonzero(free & self.returned.firm)
        outcome = self.status[rows]
        refused = outcome != 0
        if not refused.any():
            return
        explained = ~refused
        known = [feature.at(rows) for feature in self.shares.features]
        for part in split(known, rows, outcome, 0):
            explained |= part.rows
            calls = tuple(rows[part.rows].tolist())
            yield Finding((), part.when, part.status, calls, int(refused.sum()), True)
        for number in np.unique(outcome[~explained]).tolist():
            calls = tuple(rows[~explained & (outcome == number)].tolist())
            yield Finding((), "", number, calls, len(rows), True, tuple(rows[~refused].tolist()))

    # the table ------------------------------------------------------------------------------------
    def outcomes(self) -> Iterator[RuleOutcome]:
        for i, rule in enumerate(self.spec.rules):
            rows = self.decided[i]
            status = self.status[rows]
            yield RuleOutcome(rule, became(rule, status), Counter(status.tolist()), rows)


def _usual(outcome: np.ndarray) -> int:
    """What is no news: what the page admits, or what most calls returned."""
    numbers, counts = np.unique(outcome, return_counts=True)
    return AS_THE_PAGE if AS_THE_PAGE in numbers else int(numbers[counts.argmax()])
