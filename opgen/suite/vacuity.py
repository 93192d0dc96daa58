"""Why a pass would prove nothing: no output, nothing in it, all zeros, or what a plan says of its
own parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from opgen.calls.aims import Aims
from opgen.numerics.recipes import RECIPES
from opgen.oracle.judgement import Judgement
from opgen.spec.language import terms
from opgen.spec.language.terms import Term
from opgen.spec.rules import holds
from opgen.spec.spec import SpecScope
from opgen.suite.planning.plan import Plan

ZERO = frozenset(
    name for name, recipe in RECIPES.items() if recipe.gradient is RECIPES["zeros"].gradient
)
"""Recipes whose incoming gradient is zero everywhere."""


def inconclusive(
    judged: Judgement,
    plan: Plan,
    wanted: Mapping[str, np.ndarray],
    of: np.ndarray,
    recipe: Sequence[str],
    aims: Sequence[Aims],
) -> list[str]:
    """A reason for every case whose golden would not change if what it tests were ignored, else an
    empty text. ``wanted`` are the outputs that are computed, as (calls,) bool; case ``i`` makes
    call ``of[i]``.
    """
    calls = len(judged.table)
    found = np.full(len(of), "", dtype=object)
    limits = {
        some: {rule for aim in some if aim.verb == "limits" for rule in aim.rules}
        for some in set(aims)
    }
    for entry in reversed(plan.vacuous):
        told = holds(_condition(entry.when, judged.spec.scope), judged.view, calls)[of]
        if entry.rules:
            meant = {some for some, rules in limits.items() if rules and rules <= set(entry.rules)}
            told = told & np.array([some in meant for some in aims], dtype=bool)
        found[told] = entry.why
    found[np.array([name in ZERO for name in recipe], dtype=bool)] = "the incoming gradient is zero"
    elements = np.zeros(calls, dtype=bool)
    asked = np.zeros(calls, dtype=bool)
    for name, here in wanted.items():
        asked |= here
        elements |= here & (judged.view.get((name, "numel")).data > 0)
    found[(asked & ~elements)[of]] = "the outputs have no elements"
    found[~asked[of]] = "no output is asked for"
    why: list[str] = found.tolist()
    return why


@lru_cache(maxsize=256)
def _condition(text: str, scope: SpecScope) -> Term:
    return terms.condition(text, scope)
