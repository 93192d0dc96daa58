"""What edits change: names with new values, on top of calls that were built before, and what
follows from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

import numpy as np

from opgen.spec.language.term import Asked, Reference
from opgen.spec.language.value import Value
from opgen.spec.spec import Spec

SHARED: Mapping[Asked, Reference] = {
    "dtype": ("dtype", ""),
    "rank": ("rank", ""),
    "format": ("format", ""),
    "view": ("view", ""),
}
"""What a plan may choose once for all tensors."""
Columns = Mapping[Reference, Value]
"""Names with new values, bound in some of the rows."""

_NOWHERE = np.zeros(0, dtype=np.int64)


class Rows(Protocol):
    """Rows whose names have values: those of a builder."""

    rows: int

    def get(self, reference: Reference) -> Value: ...


def flat(rows: Rows, name: str, what: Asked) -> np.ndarray:
    """(rows,) values of a reference."""
    return np.broadcast_to(np.asarray(rows.get((name, what)).data), rows.rows)


@dataclass(frozen=True)
class Overlay:
    """``columns`` are bound where they overrule everything, on top of the calls ``before`` at its
    rows ``came_from``: its values stand where a name would otherwise be unbound. ``mode`` says row
    by row what follows from an edit (:data:`opgen.suite.planning.edits.FOLLOW` and its
    neighbours). By default nothing is edited.
    """

    columns: Columns = field(default_factory=lambda: MappingProxyType({}))
    before: Rows | None = None
    came_from: np.ndarray = field(default_factory=lambda: _NOWHERE)
    mode: np.ndarray = field(default_factory=lambda: _NOWHERE)

    def of(self, reference: Reference, spec: Spec, lengths: Rows) -> Iterator[Value]:
        """The edits that say what a reference is: its own, one shared by all tensors, one of a name
        in the same slot of an array, whose length is one of ``lengths``.
        """
        name, what = reference
        if reference in self.columns:
            yield self.columns[reference]
        if what == "rank" and (name, "shape") in self.columns:
            whole = self.columns[name, "shape"]
            yield Value(whole.data[0], whole.bound)
        if what in SHARED and SHARED[what] in self.columns:
            yield self.columns[SHARED[what]]
        if what == "" and self.columns:
            yield from self._of_slot(name, spec, lengths)

    def _of_slot(self, name: str, spec: Spec, lengths: Rows) -> Iterator[Value]:
        for parameter in spec.parameters.values():
            for size, names in parameter.items.items():
                for first, *others in names:
                    edit = self.columns.get((first, "")) if name in others else None
                    if edit is not None:
                        length = flat(lengths, parameter.name, "len")
                        yield Value(edit.data, edit.bound & (length == size))

    def earlier(self, reference: Reference, mode: int | None = None) -> Iterator[Value]:
        """The value that a reference had before, at the rows that these came from: of one mode, or
        of all.
        """
        if self.before is None or (mode is not None and not (self.mode == mode).any()):
            return
        bound = np.asarray(True) if mode is None else self.mode == mode
        data, rows = self.before.get(reference).data, self.before.rows
        columns = [
            np.broadcast_to(column, (rows, *np.shape(column)[1:]))[self.came_from]
            for column in (data if isinstance(data, tuple) else (data,))
        ]
        yield Value(tuple(columns) if isinstance(data, tuple) else columns[0], bound)


def taken(columns: Columns, rows: np.ndarray) -> Columns:
    """Columns at some rows."""
    return {
        ref: Value(
            tuple(part[rows] for part in value.data)
            if isinstance(value.data, tuple)
            else value.data[rows],
            value.bound[rows],
        )
        for ref, value in columns.items()
    }
