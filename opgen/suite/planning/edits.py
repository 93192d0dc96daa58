"""Edits of legal calls, as columns: the call that each starts from, and up to four names with new
values.

Nothing here says what an edited call is worth; the oracle labels it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from opgen.calls.factorize import factorize_rows
from opgen.calls.reals import of_ordinals, ordinals
from opgen.spec.language.term import Reference
from opgen.spec.language.value import Value

Edit: TypeAlias = tuple[Reference, "np.ndarray | int"]
"""A name, one extent, item or attribute, and its new values, (rows,); those of a whole shape are
its extents, (rows, rank), those of a real are of its type.
"""
MOST_EDITS = 4
"""Names that are edited in one call, at most."""
FOLLOW, HOLD, FREEZE = 0, 1, 2
"""What else an edit changes: all that follows from it; the same, but a plan's own terms stand;
nothing."""
NO_EDIT = (-1, 0)
"""Where a row edits no more names, in :class:`EditTable`."""


@dataclass
class EditTable:
    """Edited calls, equal ones once.

    ``base`` is the legal row that each row starts from, ``mode`` says what follows. ``changes``,
    (rows, :data:`MOST_EDITS`, 2), are positions in ``targets``, -1 for none, and the new values;
    for a whole shape the value is a position in ``shapes``, for a text one in ``words``, for a
    real its ordinal among the numbers of its type. ``types`` are those of texts and reals. The
    edits of a row stand first.
    """

    base: np.ndarray
    mode: np.ndarray
    changes: np.ndarray
    targets: dict[Reference, int] = field(default_factory=dict)
    shapes: dict[tuple[int, ...], int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    types: dict[Reference, np.dtype] = field(default_factory=dict)

    @classmethod
    def unedited(cls, rows: int) -> EditTable:
        """Legal rows in which nothing is edited yet."""
        return cls(np.arange(rows), np.full(rows, FOLLOW), np.tile(NO_EDIT, (rows, MOST_EDITS, 1)))

    def __len__(self) -> int:
        return len(self.base)

    def key(self, row: int) -> tuple[int, ...]:
        """What a row edits, and to which values."""
        return tuple(self.changes[row].ravel().tolist())

    def numbered(self, edits: Sequence[Edit], rows: int) -> np.ndarray:
        """Edits of some rows, at most :data:`MOST_EDITS` of each, like ``changes``."""
        changes = np.tile(NO_EDIT, (rows, MOST_EDITS, 1))
        for i, (reference, value) in enumerate(edits):
            changes[:, i, 0] = self.targets.setdefault(reference, len(self.targets))
            changes[:, i, 1] = self._number(reference, np.asarray(value))
        return changes

    def _number(self, reference: Reference, value: np.ndarray) -> np.ndarray:
        if value.dtype.kind in "fU":
            self.types[reference] = value.dtype
        if value.dtype.kind == "f":
            return ordinals(value)
        if value.dtype.kind == "U":
            words = [
                self.words.setdefault(word, len(self.words)) for word in np.ravel(value).tolist()
            ]
            return np.array(words, dtype=np.int64)
        if reference[1] != "shape":
            return value
        shapes = [self.shapes.setdefault(tuple(s), len(self.shapes)) for s in value.tolist()]
        return np.array(shapes, dtype=np.int64)

    def add(self, base: np.ndarray, mode: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Propose edits, as wide as ``changes`` or wider, and say where they stand; a name that is
        edited twice has the later value. -1: none, or too many.
        """
        edits, count = _latest(changes)
        fits = (count > 0) & (count <= MOST_EDITS)
        all_bases, all_modes = np.append(self.base, base[fits]), np.append(self.mode, mode[fits])
        all_changes = np.concatenate([self.changes, edits[fits]])
        rows = np.column_stack([all_bases, all_modes, all_changes.reshape(-1, 2 * MOST_EDITS)])
        places, first = factorize_rows(rows)
        added = np.full(len(base), -1)
        added[fits] = places[len(self) :]
        self.base, self.mode, self.changes = all_bases[first], all_modes[first], all_changes[first]
        return added

    def columns(self, start: int) -> dict[Reference, Value]:
        """One partly bound column per name for the rows from ``start`` on."""
        columns: dict[Reference, Value] = {}
        for reference, number in self.targets.items():
            places = self.changes[start:, :, 0] == number
            value = np.where(places, self.changes[start:, :, 1], 0).sum(axis=1)
            columns[reference] = Value(self._value(reference, value), places.any(axis=1))
        return columns

    def _value(
        self, reference: Reference, numbers: np.ndarray
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        if reference in self.types:
            text = self.types[reference].kind == "U"
            return (
                np.array(list(self.words))[numbers]
                if text
                else of_ordinals(numbers, self.types[reference])
            )
        if reference[1] != "shape":
            return numbers
        ranks = np.array([len(shape) for shape in self.shapes])
        width = max(1, *ranks)
        extents = np.array([[*shape, *[1] * (width - len(shape))] for shape in self.shapes])
        return ranks[numbers], extents[numbers]


def _latest(changes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every name once, at its first place with its last value, as wide as an EditTable; and how
    many names each row has, (rows,).
    """
    target, width = changes[..., 0], changes.shape[1]
    same = target[:, :, None] == target[:, None, :]
    first = (target >= 0) & (same.argmax(axis=2) == np.arange(width))
    last = width - 1 - same[:, :, ::-1].argmax(axis=2)
    value = np.take_along_axis(changes[..., 1], last, axis=1)
    edits = np.where(first[..., None], np.stack([target, value], axis=2), NO_EDIT)
    order = np.argsort(~first, axis=1, kind="stable")[:, :MOST_EDITS]
    return np.take_along_axis(edits, order[..., None], axis=1), first.sum(axis=1)
