"""Conditions that calls of some rules share, as findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from opgen.calls.factorize import by_key
from opgen.learning.features import OWN, Feature, features, own
from opgen.learning.lesson import Finding, holding, said_by
from opgen.learning.precedence import subject
from opgen.learning.splitting import Share, split
from opgen.learning.statuses import Returned
from opgen.spec.rules import Rule

AS_THE_PAGE, OTHERS = -2, -3
"""No statuses: that the page admits what was returned; that nothing is usual."""
CLASSES: tuple[Callable[[Rule], object], ...] = (subject, lambda rule: rule.code, lambda rule: "")
"""What rules may have in common, the closest first: what they are about, the page's code,
nothing."""


class Shares:
    """What tells the calls of one page apart. ``rows`` are calls, each as often as it breaks one of
    some ``rules``; ``rule`` says which, by its place among them.
    """

    def __init__(self, returned: Returned) -> None:
        self.returned = returned
        self.position = {rule.id: i for i, rule in enumerate(returned.spec.rules)}

    @cached_property
    def features(self) -> list[Feature]:
        return features(self.returned.judgement.view)

    def told_apart(
        self,
        rules: Sequence[Rule],
        rows: np.ndarray,
        rule: np.ndarray,
        outcome: np.ndarray,
        usual: int,
        related: Set[str],
        explained: np.ndarray | None = None,
    ) -> Iterator[Share]:
        """The shares of calls that did not return what is ``usual``; ``outcome`` (rows,) is what
        each returned. Conditions may be about what each rule is about.
        """
        known = [feature.at(rows) for feature in self.features]
        if len(rules) > 1:
            known += own(known, [about(each) for each in rules], rule)
        beyond = partial(self.beyond, rules, rows)
        return split(known, rows, outcome, usual, related, explained, beyond)

    def beyond(self, rules: Sequence[Rule], rows: np.ndarray, when: str, status: int) -> int:
        """How many other calls than ``rows`` break one of the rules, do not meet a condition, and
        were refused with another status. They break other rules, too: they decide nothing, but on
        that side of the condition nothing more is claimed than what the page says.
        """
        others = np.zeros(len(self.returned), dtype=bool)
        for each in rules:
            text = when.replace(OWN, about(each))
            held = holding(self.returned.judgement, Finding((each.id,), text, 0, (), 0, True))
            others |= self.returned.judgement.broken[self.position[each.id]] & ~held
        others &= self.returned.firm & (self.returned.status != 0)
        others[rows] = False
        return int((others & (self.returned.status != status)).sum())

    def findings(
        self,
        rules: Sequence[Rule],
        rows: np.ndarray,
        rule: np.ndarray,
        part: Share,
        silent: Sequence[Rule] = (),
    ) -> Iterator[Finding]:
        """The findings that a share is: one, or one for each rule where it is about what each is
        about; of the ``silent``, too, of which no call speaks.
        """
        of = [*(rules[i] for i in np.unique(rule[part.rows]).tolist()), *silent]
        calls, asked = tuple(np.unique(rows[part.rows]).tolist()), len(np.unique(rows))
        differs = not said_by(rules[0], np.array([part.status]))[0]
        common = (part.status, calls, asked, differs)
        if OWN not in part.when:
            yield Finding(tuple(each.id for each in of), part.when, *common)
            return
        for each in of:
            yield Finding((each.id,), part.when.replace(OWN, about(each)), *common)

    def across(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The same; what calls of several rules have in common that contradict what others of the
        same rule returned.
        """
        left: list[Finding] = []
        for finding in findings:
            if finding.against:
                left.append(finding)
            else:
                yield finding
        rules = self.returned.spec.rule
        for alike in CLASSES:
            groups = by_key(
                ((alike(rules[each.rules[0]]), each.status, each.differs), each) for each in left
            )
            left = []
            for group in groups.values():
                found = list(self.in_common(group)) if len(group) > 1 else group
                left += (each for each in found if each.against)
                yield from (each for each in found if not each.against)
        yield from left

    def in_common(self, group: Sequence[Finding]) -> Iterator[Finding]:
        """What the calls of some findings have in common, each about a rule of its own and the same
        status; then the findings, of the calls that are left.
        """
        rules = [self.returned.spec.rule[each.rules[0]] for each in group]
        sides = [(*each.calls, *each.against) for each in group]
        rows = np.concatenate([np.array(side, dtype=np.intp) for side in sides])
        rule = np.repeat(np.arange(len(group)), [len(side) for side in sides])
        shows = np.concatenate(
            [np.arange(len(s)) < len(e.calls) for e, s in zip(group, sides, strict=True)]
        )
        status = group[0].status
        related = {OWN, "product", *set.intersection(*map(names, rules))}
        left = shows.copy()
        outcome = np.where(shows, status, AS_THE_PAGE)
        for part in self.told_apart(rules, rows, rule, outcome, AS_THE_PAGE, related):
            left &= ~part.rows
            yield from self.findings(rules, rows, rule, part)
        for i, each in enumerate(group):
            if calls := tuple(rows[left & (rule == i)].tolist()):
                yield replace(each, calls=calls)


def names(rule: Rule) -> set[str]:
    """The names of which a rule speaks."""
    return {name for name, _ in rule.refs}


def about(rule: Rule) -> str:
    """The parameter that a rule is about: its own, or the first that it compares."""
    return rule.parameter or next((name for name, _ in rule.refs), "")
