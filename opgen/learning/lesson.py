"""What calls of one page taught: what became of its rules, and what the library does beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from opgen.learning.splitting import LEAST
from opgen.learning.statuses import DIED, Returned
from opgen.model import of_a_check
from opgen.oracle.judgement import Judgement
from opgen.spec.language.parse import condition
from opgen.spec.rules import Rule, true_where

Became: TypeAlias = Literal[
    "confirmed", "not enforced", "another code", "crash", "mixed", "not seen"
]

OPEN = -9
"""What a rule returns of which nothing more is known than that the page names no code."""


@dataclass(frozen=True)
class Finding:
    """What the library does where ``when`` holds and one of ``rules`` is broken; without rules, to
    calls that break none. ``calls`` are the positions of those that show it, ``against`` of those
    that contradict it: a finding with too few calls, or with any against it, is a hint.

    ``differs``: the page does not admit the status. ``beside``: one of these rules is broken, too.
    """

    rules: tuple[str, ...]
    when: str
    status: int
    calls: tuple[int, ...]
    asked: int
    differs: bool
    against: tuple[int, ...] = ()
    beside: tuple[str, ...] = ()

    @property
    def hint(self) -> bool:
        return bool(self.against) or len(self.calls) < LEAST


@dataclass(frozen=True)
class RuleOutcome:
    """What became of a rule: the statuses that the calls which decide it returned, and the position
    of each such call.
    """

    rule: Rule
    became: Became
    returned: Counter[int]
    calls: np.ndarray

    @property
    def page(self) -> str:
        """What the page says of a call that breaks the rule, in a word or a code."""
        code = self.rule.code
        return str(code) if code is not None else self.rule.bucket.replace("_", " ")


@dataclass(frozen=True)
class Lesson:
    """What the calls of one page taught. ``early`` and ``late`` are rules that are checked before,
    and after, all others.
    """

    returned: Returned
    outcomes: tuple[RuleOutcome, ...]
    findings: tuple[Finding, ...]
    early: tuple[str, ...] = ()
    late: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[Finding, ...]:
        """The findings that evidence carries."""
        return tuple(each for each in self.findings if not each.hint)

    @property
    def hints(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.hint)


def said_by(rule: Rule, status: np.ndarray) -> np.ndarray:
    """(rows,) bool: a page that says only this rule admits the status of a call that breaks it."""
    if rule.code is not None:
        return np.asarray(status == rule.code)
    checked = np.isin(status, [s for s in np.unique(status).tolist() if of_a_check(s)])
    return checked if rule.forbids else checked | (status == 0)


def became(rule: Rule, status: np.ndarray) -> Became:
    """What became of a rule, by the statuses of the calls that decide it."""
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


def holding(judgement: Judgement, finding: Finding) -> np.ndarray:
    """(rows,) bool: where the condition of a finding holds."""
    when = condition(finding.when, judgement.spec.scope) if finding.when else None
    return true_where(when, judgement.view, len(judgement.table))


def returns(judgement: Judgement, known: Iterable[Finding]) -> np.ndarray:
    """(rules, rows) int64: what each rule returns for all that is known, 0 where it is let pass. Of
    findings about the same rule and call, those with a condition win, then those that let it pass.
    """
    rules = judgement.spec.rules
    result = np.array([[OPEN if rule.code is None else rule.code] for rule in rules])
    result = np.repeat(result, len(judgement.table), axis=1)
    position = {rule.id: i for i, rule in enumerate(rules)}
    for finding in sorted(known, key=lambda each: (bool(each.when), each.status == 0)):
        if not finding.hint and not finding.beside:
            held = holding(judgement, finding)
            for rule in finding.rules:
                result[position[rule]][held] = finding.status
    return result


def enforced(judgement: Judgement, known: Iterable[Finding]) -> np.ndarray:
    """(rules, rows) bool: broken, and not let pass for all that is ``known``."""
    return np.asarray(judgement.broken & (returns(judgement, known) != 0))
