"""Calls that show a rule: one that breaks it, and the legal one nearest to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opgen.model import Call
from opgen.spec.rules import Rule
from opgen.suite.suite import Suite


@dataclass(frozen=True)
class RuleExample:
    """A call that breaks a rule, the values found in it, and the nearest call that obeys it."""

    case: str
    illegal: Call
    found: str
    nearest_valid: str
    legal: Call

    @property
    def differs(self) -> list[str]:
        """The arguments in which the two calls differ."""
        return [name for name, value in self.illegal.args.items() if self.legal.args[name] != value]


def rule_example(suite: Suite, page: str, rule: Rule) -> RuleExample | None:
    """The case of a suite that breaks a rule of a page with the fewest others; None where no case
    does.
    """
    cases = suite.cases
    aimed = cases.purposes.mask(
        lambda purposes: any(
            purpose.verb == "breaks" and purpose.rules[0] == rule.id for purpose in purposes
        )
    )
    known = {name: row for row, name in enumerate(cases.id)}
    rows = np.intersect1d(np.flatnonzero(aimed), suite.rows_of(page))
    near = [case for case in map(cases.__getitem__, rows.tolist()) if case.nearest_valid in known]
    if not near:
        return None
    illegal = min(near, key=lambda case: len(case.page.breaks))
    legal = cases[known[illegal.nearest_valid]]
    found = next(broken.found for broken in illegal.page.breaks if broken.rule == rule.id)
    return RuleExample(illegal.id, illegal.call, found, legal.id, legal.call)
