"""Edits of legal calls, as columns: the call that each starts from, and up to four names with new
values.

Nothing here says what an edited call is worth; the oracle labels it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from opgen.spec.language.formulas import Value
from opgen.spec.language.terms import Reference

Edit: TypeAlias = tuple[Reference, "int | tuple[int, ...]"]
"""A name, one extent, item or attribute, and its new value; a whole shape is a tuple."""
MOST_EDITS = 4
"""Names that are edited in one call, at most."""
FOLLOW, HOLD, FREEZE = 0, 1, 2
"""What else an edit changes: all that follows from it; the same, but a plan's own terms stand;
nothing."""


@dataclass(frozen=True)
class EditTable:
    """``base`` is the legal row that each row starts from, ``mode`` says what follows.

    ``target`` and ``value`` are (rows, :data:`MOST_EDITS`): positions in ``targets``, -1 for none,
    and the new values; for a whole shape the value is a position in ``shapes``.
    """

    base: np.ndarray
    mode: np.ndarray
    target: np.ndarray
    value: np.ndarray
    targets: Sequence[Reference]
    shapes: Sequence[tuple[int, ...]]

    def __len__(self) -> int:
        return len(self.base)

    def key(self, row: int) -> tuple[int, ...]:
        """What a row edits, and to which values."""
        return (*self.target[row].tolist(), *self.value[row].tolist())

    def of(self, row: int) -> list[Edit]:
        """The edits of a row, in the order in which they were made."""
        edits: list[Edit] = []
        for target, value in zip(self.target[row].tolist(), self.value[row].tolist(), strict=True):
            if target >= 0:
                reference = self.targets[target]
                edits.append((reference, self.shapes[value] if reference[1] == "shape" else value))
        return edits

    def columns(self) -> dict[Reference, Value]:
        """One partly bound column per edited name."""
        columns: dict[Reference, Value] = {}
        for i, reference in enumerate(self.targets):
            places = self.target == i
            here = places.any(axis=1)
            value = np.where(places, self.value, 0).sum(axis=1)
            columns[reference] = Value(
                self._shapes(here, value) if reference[1] == "shape" else value, here
            )
        return columns

    def _shapes(self, here: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        width = max([len(shape) for shape in self.shapes] + [1])
        ranks = np.array([len(shape) for shape in self.shapes] or [0], dtype=np.int64)
        extents = np.array(
            [[*shape, *[1] * (width - len(shape))] for shape in self.shapes] or [[1]],
            dtype=np.int64,
        )
        picked = np.where(here, value, 0)
        return ranks[picked], extents[picked]


@dataclass
class EditCollector:
    """Edits row by row, equal ones once; :meth:`table` has them as columns."""

    targets: dict[Reference, int] = field(default_factory=dict)
    shapes: dict[tuple[int, ...], int] = field(default_factory=dict)
    rows: dict[tuple[int, ...], int] = field(default_factory=dict)

    def add(self, base: int, edits: Sequence[Edit], mode: int) -> int:
        """Propose some edits of one row and say where; a name that is edited twice has the later
        value. -1: too many edits.
        """
        last = dict(edits)
        if not 0 < len(last) <= MOST_EDITS:
            return -1
        flat: list[int] = []
        for reference, value in last.items():
            number = (
                self.shapes.setdefault(value, len(self.shapes))
                if isinstance(value, tuple)
                else value
            )
            flat += [self.targets.setdefault(reference, len(self.targets)), number]
        flat += [-1, 0] * (MOST_EDITS - len(last))
        return self.rows.setdefault((base, mode, *flat), len(self.rows))

    def table(self, start: int = 0) -> EditTable:
        """The edits from row ``start`` on."""
        rows = list(self.rows)[start:]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 2 + 2 * MOST_EDITS)
        return EditTable(
            columns[:, 0],
            columns[:, 1],
            columns[:, 2::2],
            columns[:, 3::2],
            list(self.targets),
            list(self.shapes),
        )


def one_left_out(edits: Sequence[Edit]) -> Iterator[list[Edit]]:
    """Every edit of several without one of the others: the calls that lie between a legal call and
    a broken one.
    """
    if len(edits) > 1:
        for left_out in range(len(edits)):
            yield [edit for i, edit in enumerate(edits) if i != left_out]
