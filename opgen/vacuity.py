"""Why a pass would prove nothing: no output, nothing in it, all zeros, or what a plan says of its own parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from opgen import terms
from opgen.oracle import Judgement
from opgen.plan import Plan
from opgen.recipes import RECIPES
from opgen.rules import holds
from opgen.table import TensorColumn

ZERO = frozenset(name for name, recipe in RECIPES.items() if recipe.gradient is RECIPES["zeros"].gradient)
"""Recipes whose incoming gradient is zero everywhere."""
LIMIT = "at the limit of "


def mistrusted(judged: Judgement, plan: Plan, wanted: Mapping[str, np.ndarray], recipe: Sequence[str], intent: Sequence[str]) -> list[str]:
    """A reason for every row whose golden would not change if what it tests were ignored, else an empty text. ``wanted`` are
    the outputs that are computed, as (rows,) bool."""
    rows = len(judged.table)
    found = np.full(rows, "", dtype=object)
    for entry in reversed(plan.vacuous):
        told = holds(terms.condition(entry.when, judged.spec.scope), judged.view, rows)
        if entry.rules:
            limits = [set(one.split(LIMIT)[1] for one in why.split("; ") if one.startswith(LIMIT)) for why in intent]
            told = told & np.array([bool(one) and one <= set(entry.rules) for one in limits], dtype=bool)
        found[told] = entry.why
    found[np.array([name in ZERO for name in recipe], dtype=bool)] = "the incoming gradient is zero"
    elements = np.zeros(rows, dtype=bool)
    asked = np.zeros(rows, dtype=bool)
    for name, here in wanted.items():
        column = judged.table.columns[name]
        assert isinstance(column, TensorColumn)
        asked |= here
        elements |= here & (column.numel() > 0)
    found[asked & ~elements] = "the outputs have no elements"
    found[~asked] = "no output is asked for"
    return [str(why) for why in found]
