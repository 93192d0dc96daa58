"""Why a pass would prove nothing: no output, nothing in it, all zeros, or what a plan says of its
own parameters.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np

from opgen.calls.case_table import CaseTable
from opgen.calls.categorical import Categorical
from opgen.calls.purposes import Purposes
from opgen.numerics.recipes import RECIPES
from opgen.oracle.judgement import Judgement
from opgen.spec.language import parse
from opgen.spec.language.term import Term
from opgen.spec.rules import true_where
from opgen.spec.spec import SpecScope
from opgen.suite.planning.plan import Plan

ZERO = frozenset(
    name for name, recipe in RECIPES.items() if recipe.gradient is RECIPES["zeros"].gradient
)
"""Recipes whose incoming gradient is zero everywhere."""


def why_inconclusive(judged: Judgement, plan: Plan, cases: CaseTable) -> Categorical[str]:
    """A reason for every case whose golden would not change if what it tests were ignored, else an
    empty text.
    """
    calls, why = len(judged.table), np.zeros(len(cases), dtype=np.intp)
    reasons = [""]

    def note(here: np.ndarray, reason: str) -> None:
        why[here] = len(reasons)
        reasons.append(reason)

    for entry in reversed(plan.vacuous):
        here = true_where(_condition(entry.when, judged.spec.scope), judged.view, calls)[cases.row]
        if entry.rules:
            here = here & cases.purposes.mask(lambda purposes: _limits_only(purposes, entry.rules))  # noqa: B023
        note(here, entry.why)
    note(cases.recipe.mask(ZERO.__contains__), "the incoming gradient is zero")
    elements = np.zeros(calls, dtype=bool)
    asked = np.zeros(calls, dtype=bool)
    for name, here in judged.wanted.items():
        asked |= here
        elements |= here & (judged.view.get((name, "numel")).data > 0)
    note((asked & ~elements)[cases.row], "the outputs have no elements")
    note(~asked[cases.row], "the call asks for no output")
    return Categorical.coded(reasons, why)


def _limits_only(purposes: Purposes, rules: Collection[str]) -> bool:
    """Whether a call stands at limits, and all of them are those of some rules."""
    limits = {rule for purpose in purposes if purpose.verb == "limits" for rule in purpose.rules}
    return bool(limits) and limits <= set(rules)


@lru_cache(maxsize=256)
def _condition(text: str, scope: SpecScope) -> Term:
    return parse.condition(text, scope)
