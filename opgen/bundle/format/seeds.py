"""Inputs that a bundle does not hold, because a few numbers say how to draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from opgen.calls.stored_tensors import StoredTensors


class Seed(NamedTuple):
    """An input of a case that is drawn where it is read: where its stream begins, and its steps
    (:func:`opgen.numerics.fill.drawn_again`).
    """

    case: int
    name: str
    start: int
    low: int
    high: int
    exponent: int


@dataclass(frozen=True, eq=False)
class Seeds:
    """Seeds as columns."""

    case: np.ndarray
    name: np.ndarray
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    exponent: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[Seed]) -> Seeds:
        """From rows."""
        columns = list(zip(*rows, strict=True)) or [()] * len(Seed._fields)
        case, name, start, *steps = columns
        return cls(
            np.array(case, dtype=np.int64),
            np.array(name, dtype=object),
            np.array(start, dtype=np.uint64),
            *(np.array(column, dtype=np.int64) for column in steps),
        )

    def __len__(self) -> int:
        return len(self.case)

    def marked(self, stored: StoredTensors) -> StoredTensors:
        """What cases keep, with the role ``drawn`` for these inputs."""
        known = set(zip(self.case.tolist(), self.name.tolist(), strict=True))
        return stored.changed(
            lambda case, name, role, *rest: [
                (name, "drawn" if role == "input" and (case, name) in known else role, *rest)
            ]
        )
