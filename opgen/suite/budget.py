"""What a tier can afford: cases and bytes for one page. What breaks a rule, and the calls it is
compared with, comes first.
"""

from __future__ import annotations

import numpy as np

from opgen.calls.case_table import CaseTable
from opgen.calls.layout import elements
from opgen.suite.planning.plan_form import Tier

BYTES = 12
"""About what one element costs in a bundle: its input, or its golden and its bound."""


def affordable(cases: CaseTable, tier: Tier) -> np.ndarray:
    """(cases,) bool: those of one page that fit the tier's budget. Valid calls that no other needs
    go first, the last of them first: a covering array has its best rows in front.
    """
    invalid = cases.kind.mask(lambda kind: kind == "invalid")
    cost = np.where(invalid, 0.0, elements(cases.calls[0])[cases.row]) * BYTES
    cost[cost > tier.elements * BYTES] = 0.0
    needed = np.isin(cases.id, cases.nearest_valid.values)
    needed |= cases.kind.mask(lambda kind: kind != "valid")
    order = np.concatenate([np.flatnonzero(needed), np.flatnonzero(~needed)])
    fits = (np.arange(1, len(cases) + 1) <= tier.cases) & (np.cumsum(cost[order]) <= tier.bytes)
    result = np.zeros(len(cases), dtype=bool)
    result[order[fits]] = True
    return result
