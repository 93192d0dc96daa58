"""The nouns of covering: a model of factors and tables, and a tally of tuples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Table: TypeAlias = tuple[tuple[int, ...], NDArray[np.bool_]]
"""A constraint: the factors it binds, and a bool array over their levels, True where allowed."""

Tuple: TypeAlias = tuple[tuple[int, int], ...]
"""Values of some factors: ``((factor, value), ...)``, factors ascending."""

Assignments: TypeAlias = NDArray[np.int64]
"""A row per assignment and a column per factor: the number of its value, -1 where it is open."""

Group: TypeAlias = tuple[Sequence[int], int]
"""Some factors, and the strength at which they shall be covered."""


STRONGEST = 4
"""The largest strength that can be asked for; of larger tuples there are too many."""


@dataclass(frozen=True, eq=False)
class Model:
    """Factors with a number of levels each, and tables of allowed combinations.

    >>> Model((2, 3), (((0, 1), np.array([[True, False, True], [True, True, True]])),)).levels
    (2, 3)
    """

    levels: tuple[int, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, eq=False)
class Tally:
    """What is covered of one requested group: a number per combination of ``strength`` of its
    factors.

    ``covered`` counts feasible tuples only, so ``feasible - covered`` are missing. ``missing`` and
    ``impossible`` list the tuples themselves.
    """

    factors: tuple[int, ...]
    strength: int
    combinations: NDArray[np.int64]
    covered: NDArray[np.int64]
    feasible: NDArray[np.int64]
    infeasible: NDArray[np.int64]
    missing: list[Tuple]
    impossible: list[Tuple]

    def totals(self) -> tuple[int, int, int]:
        """Tuples covered, feasible and infeasible."""
        return int(self.covered.sum()), int(self.feasible.sum()), int(self.infeasible.sum())

    def of_factor(self, factor: int) -> tuple[int, int, int]:
        """Tuples covered, feasible and infeasible, of those that hold ``factor``."""
        held = (self.combinations == factor).any(axis=1)
        return (
            int(self.covered[held].sum()),
            int(self.feasible[held].sum()),
            int(self.infeasible[held].sum()),
        )


def requested(
    model: Model, strength: int, groups: Sequence[Group]
) -> Iterator[tuple[tuple[int, ...], int]]:
    """The requested groups, the one of all factors first; strengths cut to the number of
    factors.
    """
    everything: list[Group] = [(range(len(model.levels)), strength), *groups]
    for factors, t in everything:
        chosen = tuple(sorted(set(factors)))
        if chosen:
            yield chosen, min(t, len(chosen))


def tuples_asked(model: Model, strength: int, groups: Sequence[Group] = ()) -> int:
    """How many tuples are asked for, without listing any; what several groups share counts for
    each.

    >>> tuples_asked(Model((2, 3, 4)), 2)
    26
    """
    total = 0
    for factors, t in requested(model, strength, groups):
        counts = [1, *[0] * t]
        for factor in factors:
            for size in range(t, 0, -1):
                counts[size] += counts[size - 1] * model.levels[factor]
        total += counts[t]
    return total
