"""Inputs that a bundle does not hold, because a few numbers say how to draw or compute them."""

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


class Maxima(NamedTuple):
    """Indices that are computed where they are read: of the first largest element of each window of
    another input, whose windows lie at ``rows`` and ``columns``, row-major
    (:func:`opgen.numerics.maxima.first_largest`).
    """

    case: int
    name: str
    of: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Seeds:
    """Seeds as columns, and what is computed of other inputs."""

    case: np.ndarray
    name: np.ndarray
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    exponent: np.ndarray
    maxima: Sequence[Maxima]

    @classmethod
    def of(cls, rows: Sequence[Seed | Maxima]) -> Seeds:
        """From rows."""
        drawn = [row for row in rows if isinstance(row, Seed)]
        case, name, start, *steps = list(zip(*drawn, strict=True)) or [()] * len(Seed._fields)
        low, high, exponent = (np.array(column, dtype=np.int64) for column in steps)
        return cls(
            np.array(case, dtype=np.int64),
            np.array(name, dtype=object),
            np.array(start, dtype=np.uint64),
            low,
            high,
            exponent,
            [row for row in rows if isinstance(row, Maxima)],
        )

    def __len__(self) -> int:
        return len(self.case) + len(self.maxima)

    def marked(self, stored: StoredTensors) -> StoredTensors:
        """What cases keep, with the role ``drawn`` for these inputs."""
        known = set(zip(self.case.tolist(), self.name.tolist(), strict=True))
        known |= {(each.case, each.name) for each in self.maxima}
        return stored.changed(
            lambda case, name, role, *rest: [
                (name, "drawn" if role == "input" and (case, name) in known else role, *rest)
            ]
        )
