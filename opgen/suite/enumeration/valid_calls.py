"""The calls that edits start from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgen.calls.layout import elements
from opgen.oracle.judgement import Judgement
from opgen.spec.rules import Guard
from opgen.suite.enumeration.edited_calls import of_each_product
from opgen.suite.planning.call_builder import CallBuilder

_BORROWED = 1e18
"""What a valid call that is not the tier's own weighs beside its elements."""


@dataclass(frozen=True)
class ValidCalls:
    """Drafted calls, judged: the ``valid`` ones, (rows,) bool, are there to be edited.

    ``levels`` are the values that they were built from, (rows, axes). The first ``own`` rows are
    those that a tier asks for; the others are edited only where none of these can be.
    """

    levels: np.ndarray
    builder: CallBuilder
    judged: Judgement
    valid: np.ndarray
    own: int

    def __len__(self) -> int:
        return len(self.levels)

    @cached_property
    def size(self) -> np.ndarray:
        """(rows,) int: elements of all tensors of a call."""
        return elements(self.judged.table)

    @cached_property
    def cost(self) -> np.ndarray:
        """(rows,) float64: what they weigh; the cheapest are edited first."""
        return self.size + np.where(np.arange(len(self)) < self.own, 0.0, _BORROWED)

    def bases(self, usable: np.ndarray, most: int) -> list[int]:
        """The cheapest of the usable valid rows, ``most`` of each product, spread a little."""
        order = np.argsort(self.cost, kind="stable")
        bases: list[int] = []
        for rows in of_each_product(self.judged, order[(usable & self.valid)[order]]):
            spread = np.linspace(0, len(rows) - 1, min(most, len(rows)))
            bases += rows[np.unique(spread.astype(int))].tolist()
        return bases

    def left_out(self, guard: Guard) -> list[int]:
        """The smallest valid row of each product that the condition of a guard leaves out."""
        view = self.judged.view
        free = guard.unconditional.applies(view, len(self)) & ~guard.applies(view, len(self))
        rows = np.flatnonzero(free & self.valid)
        ordered = rows[np.argsort(self.size[rows], kind="stable")]
        return [int(mine[0]) for mine in of_each_product(self.judged, ordered)]

    def lacks_exempt(self, guard: Guard) -> bool:
        """Whether a guard has a condition, and no call of the tier's own does what it forbids where
        the condition does not hold.
        """
        if guard.when is None:
            return False
        exempt = guard.exempts(self.judged.view, len(self)) & self.valid
        return not exempt[: self.own].any()
