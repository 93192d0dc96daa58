"""What may be edited in a call so that one guard of one rule breaks, or so that the call stands at
its limit.

An edit sets one name, extent, item or attribute; what follows from it follows again (that is the
repair). Two edits at once are an attribute that all tensors share together with one tensor of its
own. Nothing here believes an edit: the oracle labels what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from opgen.calls.columns import TypedColumn
from opgen.calls.kinds import KINDS, MOST_CHARACTERS, NUMERIC, REAL
from opgen.calls.vocabulary import vocabulary
from opgen.oracle.judgement import Judgement
from opgen.spec.language import functions
from opgen.spec.language.term import NOTHING, Reference
from opgen.spec.rules import Guard
from opgen.suite.enumeration.proposals import (
    Proposal,
    Sides,
    beside,
    by_size,
    candidates,
    nan_of,
    proposal,
    whole_shapes,
)
from opgen.suite.enumeration.reasons import constants
from opgen.suite.planning.strides import SHARING, VIEWS

LENGTHS = range(10)
"""The lengths that an array is set to."""
RANKS = range(10)
"""The ranks that a tensor is set to."""
_OTHER_WORDS = 3
"""About how many dtypes or formats a tensor is set to beside those of its own rules: every one
would be hundreds of calls alike."""


class EditGenerator:
    """Edits of rows of a judged table, whether those are legal or broken already.

    A proposal is an array of places in the rows that were asked for, and edits of each of them.
    """

    def __init__(self, judged: Judgement) -> None:
        self.spec = judged.spec
        self.judged = judged

    def turning(self, rows: np.ndarray, guard: Guard) -> Iterator[Proposal]:
        """Edits of rows that may turn what the guard says."""
        for reference in guard.require.refs:
            yield from self._of(reference, rows, guard)

    def dropping(self, rows: np.ndarray, guard: Guard) -> Iterator[Proposal]:
        """Null pointers in place of what a guard speaks of, and outputs that are not asked for any
        more.
        """
        every = np.arange(len(rows))
        for name in dict.fromkeys(name for name, _ in guard.require.refs):
            parameter = self.spec.parameters.get(name)
            if parameter is not None and parameter.is_pointer:
                yield every, [((name, "null"), 1)]
                if parameter.mask is not None:
                    asked = [(reference, 0) for reference in parameter.mask.refs]
                    yield every, [((name, "null"), 1), *asked]

    def towards(self, rows: np.ndarray, references: Iterable[Reference]) -> Iterator[Proposal]:
        """Edits of some names of rows, whatever they lead to."""
        for reference in references:
            yield from self._of(reference, rows, None)

    def _of(
        self, reference: Reference, rows: np.ndarray, guard: Guard | None
    ) -> Iterator[Proposal]:
        name, what = reference
        kind = self.spec.scope.kind(reference)
        every = np.arange(len(rows))
        if kind == "product":
            known = vocabulary().index["product"]
            yield from ((every, [(reference, known[product])]) for product in self.spec.judges)
        elif kind in ("dtype", "format"):
            yield from self._words(reference, kind, rows)
        elif what == "null":
            yield every, [(reference, 1)]
        elif what == "strided":
            apart = (n for n in range(len(VIEWS)) if n not in SHARING)
            yield from ((every, [((name, "view"), n)]) for n in apart)
        elif kind == "string":
            yield from (
                (every, [(reference, np.full(len(rows), w))]) for w in self._texts(reference)
            )
        elif what == "len":
            yield from ((every, [(reference, n)]) for n in LENGTHS)
        elif what in ("rank", "shape"):
            yield from self._shapes(name, rows, whole=what == "shape")
        elif what in ("lowest", "highest", "numel", "values"):
            yield from self._parts(name, rows, guard, empty=what == "numel")
        else:
            value, unit = self.judged.view.get(reference), str(kind)
            typed = isinstance(self.judged.table.columns.get(name), TypedColumn)
            unit = "float" if typed else unit
            current = self._column(functions.in_steps(value, value, unit)[0], rows)
            sides = self._sides(guard, rows, unit)
            wanted = 1 - current if kind == "bool" else candidates(current, sides)
            if unit in REAL:
                wanted = np.hstack([wanted, np.full_like(wanted[:, :1], nan_of(unit))])
            yield proposal(reference, every, wanted, unit)
            if typed and sides:
                yield proposal(reference, every, beside(sides), unit)

    def _words(self, reference: Reference, kind: str, rows: np.ndarray) -> Iterator[Proposal]:
        """Another dtype or format, for one tensor, for all, or for all but this one."""
        current, shared = self._column(self.judged.view.get(reference).data, rows)[:, 0], (kind, "")
        known = {
            n
            for rule in self.spec.rules
            if rule.key == kind
            for guard in rule.guards
            for n in constants(guard)
        }
        others = [
            n
            for n in range(len(vocabulary().names[kind]))
            if n not in known and vocabulary().names[kind][n] != "UNDEFINED"
        ]
        step = max(1, len(others) // _OTHER_WORDS)
        every = np.arange(len(rows))
        for n in [*sorted(known), *others[::step]]:
            yield every, [(reference, n)]
            yield every, [(shared, n)]
            changed = np.flatnonzero(current != n)
            yield changed, [(shared, n), (reference, current[changed])]

    def _texts(self, reference: Reference) -> list[str]:
        """The words that rules know of a text, none, and one that they do not know."""
        known = {
            str(right.read(NOTHING).data)
            for rule in self.spec.rules
            for guard in rule.guards
            if reference in guard.require.refs
            for right in guard.require.right
            if not right.refs
        }
        return [*sorted(known), "", "_".join(("no", *sorted(known)))[:MOST_CHARACTERS]]

    def _shapes(self, name: str, rows: np.ndarray, whole: bool) -> Iterator[Proposal]:
        for places, shape in by_size(self.judged.table.columns[name], rows):
            size = shape.shape[1]
            for rank in RANKS:
                cut = shape[:, max(0, size - rank) :]
                cut = np.hstack([np.ones((len(cut), rank - cut.shape[1]), dtype=object), cut])
                yield whole_shapes(name, places, cut)
                if 0 < rank < size:
                    folded = shape[:, : size - rank + 1].prod(axis=1, keepdims=True)
                    yield whole_shapes(name, places, np.hstack([folded, cut[:, 1:]]))
            for i in range(size if whole else 0):
                extent = shape[:, i : i + 1]
                wanted = np.hstack([extent + 1, extent - 1, extent * 2])
                yield proposal((name, ("dim", i)), places, wanted)
            for rank in () if whole else self.spec.parameters[name].shapes:
                yield places, [(("rank", ""), rank)]
                yield places, [(("rank", ""), rank), ((name, "rank"), size)]
                yield places, [((name, "rank"), rank)]

    def _parts(
        self, name: str, rows: np.ndarray, guard: Guard | None, empty: bool
    ) -> Iterator[Proposal]:
        """The letters, extents or items that an extreme or a number of elements is made of."""
        parameter = self.spec.parameters[name]
        unit = KINDS[parameter.kind].element.term
        for places, parts in by_size(self.judged.table.columns[name], rows):
            size, sides = parts.shape[1], self._sides(guard, rows[places])
            letters: Sequence[object] = (
                parameter.shapes.get(size, ())
                if parameter.is_tensor
                else [slot[0] for slot in parameter.items.get(size, ())]
            )
            for i in range(size):
                current = parts[:, i : i + 1]
                wanted = (
                    np.hstack([0 * current, current + 1, 0 * current - 1])
                    if empty
                    else candidates(current, sides)
                )
                if i < len(letters) and isinstance(letter := letters[i], str):
                    yield proposal((letter, ""), places, wanted)
                part = (name, ("dim", i) if parameter.is_tensor else i)
                yield proposal(part, places, wanted, unit)

    def _column(self, data: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(rows, 1) numbers of any size: what some rows have of a column."""
        whole = np.broadcast_to(np.asarray(data), len(self.judged.table))
        return np.asarray(whole[rows, None].astype(object))

    def _sides(self, guard: Guard | None, rows: np.ndarray, unit: str = "") -> Sides:
        """(left side, a right side) of the guard on these rows, for numbers."""
        if guard is None or guard.require.unit not in NUMERIC:
            return []
        left = guard.require.left.read(self.judged.view)
        pairs = [
            functions.in_steps(left, right.read(self.judged.view), unit or guard.require.unit)
            for right in guard.require.right
        ]
        return [(self._column(x, rows), self._column(y, rows)) for x, y in pairs]
