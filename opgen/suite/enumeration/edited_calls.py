"""Edited calls of all rounds so far, and what is computed of them once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgen.calls import layout
from opgen.calls.layout import elements, non_negative
from opgen.oracle.judgement import Judgement
from opgen.spec.rules import Guard, Rule
from opgen.suite.planning.edits import EditTable

LAST_RESORT = 10**6
"""What a null pointer or an extent below 0 weighs as a side violation, more than all else: a device
may look no further."""


def weight_of(rule: Rule) -> int:
    """What a broken rule weighs beside another; an assumed one is mentioned and weighs less."""
    return LAST_RESORT if rule.key == "null" else 1 if rule.bucket == "assumed" else 1000


@dataclass(frozen=True)
class EditedCalls:
    """Calls that came of edits, judged, and the edits behind every row."""

    judged: Judgement
    edits: EditTable

    def __len__(self) -> int:
        return len(self.judged.table)

    def grown(self, more: Judgement) -> EditedCalls:
        """These calls, and more behind them; what is known of each row is not computed again."""
        whole = EditedCalls(Judgement.concatenate([self.judged, more]), self.edits)
        behind = EditedCalls(more, self.edits)
        vars(whole).update(
            (name, np.concatenate([vars(self)[name], getattr(behind, name)]))
            for name in {"size", "possible", "representable"} & vars(self).keys()
        )
        return whole

    def product(self, row: int) -> int:
        """The product of a row."""
        return int(self.judged.table.product[row])

    @cached_property
    def weight(self) -> np.ndarray:
        """(rows,) int: what each row breaks, heavy rules and light ones."""
        weights = np.array([weight_of(rule) for rule in self.judged.spec.rules])
        return np.asarray((self.judged.broken * weights[:, None]).sum(axis=0))

    @cached_property
    def size(self) -> np.ndarray:
        """(rows,) int: elements of all tensors of a call."""
        return elements(self.judged.table)

    @cached_property
    def possible(self) -> np.ndarray:
        """(rows,) bool: calls without an extent below 0."""
        return non_negative(self.judged.table, {})

    @cached_property
    def representable(self) -> np.ndarray:
        """(rows,) bool: calls whose numbers a call file can hold."""
        return layout.representable(self.judged.table)

    @cached_property
    def valid(self) -> np.ndarray:
        """(rows,) bool: calls that break nothing and that can be made."""
        return np.asarray(self.judged.valid & self.possible & self.representable)

    def breaking(self, r: int, guard: Guard) -> np.ndarray:
        """The rows that break one guard, of the rule number ``r``."""
        broken = self.judged.broken[r] & self.representable
        return np.flatnonzero(
            broken
            if len(self.judged.spec.rules[r].guards) == 1
            else broken & guard.broken(self.judged.view, len(self))
        )

    def side_weight(self, r: int, rows: np.ndarray) -> np.ndarray:
        """(rows,) int: how much else rows break that break the rule number ``r``, 0 where it is
        isolated; an extent below 0 counts where others break the rule without one.
        """
        others = self.weight[rows] - weight_of(self.judged.spec.rules[r])
        fit = self.possible[rows]
        return np.asarray(others + LAST_RESORT * ((others > 0) & ~fit & fit.any()))

    def lightest(self, rows: np.ndarray, *keys: np.ndarray) -> list[int]:
        """The rows of each product with the least keys, two at most; the last key counts first, the
        size last.
        """
        ordered = rows[np.lexsort((self.size[rows], *keys))]
        own = of_each_product(self.judged, ordered)
        return [row for mine in own for row in mine[:2].tolist()]


def of_each_product(judged: Judgement, rows: np.ndarray) -> list[np.ndarray]:
    """Some rows of a judged table, product by product, in the order in which they are given."""
    products = judged.table.product[rows]
    return [rows[products == product] for product in np.unique(products)]
