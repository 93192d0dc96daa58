"""What calls of one page taught: what became of its rules, and what the library does beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from opgen.learning.splitting import LEAST
from opgen.learning.statuses import Returned
from opgen.model import of_a_check
from opgen.oracle.judgement import Judgement
from opgen.spec.language.parse import condition
from opgen.spec.rules import Rule, true_where

Became: TypeAlias = Literal[
    "confirmed", "not enforced", "another code", "crash", "mixed", "not seen"
]


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


def said_by(rule: Rule, status: np.ndarray) -> np.ndarray:
    """(rows,) bool: a page that says only this rule admits the status of a call that breaks it."""
    if rule.code is not None:
        return np.asarray(status == rule.code)
    checked = np.isin(status, [s for s in np.unique(status).tolist() if of_a_check(s)])
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
