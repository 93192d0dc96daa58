"""The calls that edits start from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgen.calls.layout import elements
from opgen.oracle.judgement import Judgement
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
