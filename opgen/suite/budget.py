"""What a tier can afford: cases and bytes for one page. What breaks a rule, and the calls it is
compared with, comes first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opgen.calls.layout import elements
from opgen.calls.table import CallTable
from opgen.suite.planning.plan import Tier

BYTES = 12
"""About what one element costs in a bundle: its input, or its golden and its bound."""


def affordable(
    table: CallTable,
    kind: Sequence[str],
    nearest_valid: Sequence[str],
    ids: Sequence[str],
    tier: Tier,
) -> np.ndarray:
    """(rows,) bool: the rows that fit the tier's budget. Valid calls that no other needs go first,
    the last of them first: a covering array has its best rows in front.
    """
    rows = len(table)
    cost = np.where([one == "invalid" for one in kind], 0.0, elements(table)) * BYTES
    cost[cost > tier.elements * BYTES] = 0.0
    needed = np.isin(ids, sorted(set(nearest_valid))) | np.array(
        [one != "valid" for one in kind], dtype=bool
    )
    order = np.concatenate([np.flatnonzero(needed), np.flatnonzero(~needed)])
    fits = (np.arange(1, rows + 1) <= tier.cases) & (np.cumsum(cost[order]) <= tier.bytes)
    result = np.zeros(rows, dtype=bool)
    result[order[fits]] = True
    return result
