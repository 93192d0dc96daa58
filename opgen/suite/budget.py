"""What a suite can afford: cases and bytes for one page, elements for one case. What it leaves out
is named, with the key that changes it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opgen.calls.case_table import CaseTable
from opgen.calls.layout import elements
from opgen.suite.planning.tier_form import Tier

BYTES = 12
"""About what one element costs in a bundle: its input, or its golden and its bound."""
WORKED = 16
"""Bytes of memory that an element takes while it is computed, at least."""


class CaseLimit(NamedTuple):
    """The most elements of a case with data, whose limit that is, and what is said of a larger
    one.
    """

    elements: float
    key: str
    why: str

    @classmethod
    def of_tier(cls, tier: Tier) -> CaseLimit:
        """What a plan allows."""
        why = f"their tensors have more than {tier.elements:,} elements in all"
        return cls(tier.elements, "elements", why)


NO_LIMIT = CaseLimit(2.0**53, "elements", "they have more than 2^53 elements")
"""For cases whose data exist already."""


class LeftOut(NamedTuple):
    """What the limit of a ``key`` leaves out of a page: whole ``cases``, or their data."""

    page: str
    key: str
    cases: tuple[str, ...]
    data_only: bool = False

    def __str__(self) -> str:
        shown = self.cases[0] + (", ..." if len(self.cases) > 1 else "")
        count = f"{len(self.cases)} case" + "s" * (len(self.cases) != 1)
        what = "without data" if self.data_only else "left out"
        return f"{self.page}: {count} {what}, because the plan limits '{self.key}': {shown}"


def left_out(cases: CaseTable, tier: Tier) -> dict[str, np.ndarray]:
    """Key of the tier -> (cases,) bool: the cases of one page that pass its budget. Valid calls
    that no other needs go first, the last of them first: a covering array has its best rows in
    front. What takes no bytes passes none.
    """
    invalid = cases.kind.mask(lambda kind: kind == "invalid")
    cost = np.where(invalid, 0.0, elements(cases.calls[0])[cases.row]) * BYTES
    cost[cost > tier.elements * BYTES] = 0.0
    needed = np.isin(cases.id, cases.nearest_valid.values)
    needed |= cases.kind.mask(lambda kind: kind != "valid")
    order = np.concatenate([np.flatnonzero(needed), np.flatnonzero(~needed)])
    passed = {
        "bytes": (np.cumsum(cost[order]) > tier.bytes) & (cost[order] > 0),
        "cases": np.arange(1, len(cases) + 1) > tier.cases,
    }
    return {key: over[np.argsort(order)] for key, over in passed.items()}
