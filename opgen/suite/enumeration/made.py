"""The edited calls of all rounds so far, and what is computed of them once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgen.calls.layout import elements, possible, representable
from opgen.calls.table import concatenate
from opgen.oracle.judgement import Judgement
from opgen.spec.rules import Rule
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView
from opgen.suite.planning.proposals import Proposals

LAST_RESORT = 10**6
"""What a null pointer or an extent below 0 weighs as company, more than all else: a device may look
no further."""


def weight_of(rule: Rule) -> int:
    """What a broken rule adds to the company of another; an assumed one is mentioned and weighs
    less.
    """
    return LAST_RESORT if rule.key == "null" else 1 if rule.bucket == "assumed" else 1000


@dataclass(frozen=True)
class Made:
    """Calls that came of edits, as each round judged them, and the edits behind every row of all
    rounds.
    """

    spec: Spec
    rounds: Sequence[Judgement]
    proposals: Proposals

    def __len__(self) -> int:
        return sum(len(part.table) for part in self.rounds)

    @cached_property
    def judged(self) -> Judgement:
        """Every edited call of every round."""
        if len(self.rounds) == 1:
            return self.rounds[0]
        table = concatenate([part.table for part in self.rounds])
        return Judgement(
            self.spec,
            table,
            TableView(self.spec, table),
            np.concatenate([part.broken for part in self.rounds], axis=1),
        )

    @cached_property
    def weight(self) -> np.ndarray:
        """(rows,) int: what each row breaks, heavy rules and light ones."""
        weights = np.array([weight_of(rule) for rule in self.spec.rules])
        return np.asarray((self.judged.broken * weights[:, None]).sum(axis=0))

    @cached_property
    def size(self) -> np.ndarray:
        """(rows,) int: elements of all tensors of a call."""
        return elements(self.judged.table)

    @cached_property
    def possible(self) -> np.ndarray:
        """(rows,) bool: calls without an extent below 0."""
        return possible(self.judged.table)

    @cached_property
    def representable(self) -> np.ndarray:
        """(rows,) bool: calls whose numbers a call file can hold."""
        return representable(self.judged.table)

    @cached_property
    def legal(self) -> np.ndarray:
        """(rows,) bool: calls that break nothing and that can be made."""
        return np.asarray(self.judged.valid & self.possible & self.representable)
