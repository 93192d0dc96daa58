"""What may be edited in a call so that one guard of one rule breaks, or so that the call stands at
its limit.

An edit sets one name, extent, item or attribute; what follows from it follows again (that is the
repair). Two edits at once are an attribute that all tensors share together with one tensor of its
own. Nothing here believes an edit: the oracle labels what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from opgen.calls.table import ArrayColumn, TensorColumn
from opgen.calls.vocabulary import vocabulary
from opgen.oracle.judgement import Judgement
from opgen.spec.language import formulas
from opgen.spec.language.expressions import NOTHING
from opgen.spec.language.terms import Reference, View
from opgen.spec.rules import Guard
from opgen.spec.spec import Spec
from opgen.suite.planning.edits import FOLLOW, FREEZE, HOLD, Edit

LENGTHS = range(7)
"""The lengths that an array is set to."""
RANKS = range(10)
"""The ranks that a tensor is set to."""
_FAR = 2**62
"""Numbers from here on are no edit: columns compute with them, and must not leave int64."""
_OTHER_WORDS = 3
"""About how many dtypes or formats a tensor is set to beside those of its own rules: every one
would be hundreds of calls alike."""


class EditGenerator:
    """Edits of the rows of a judged table, whether those are legal or broken already."""

    def __init__(self, judged: Judgement) -> None:
        self.spec: Spec = judged.spec
        self.judged = judged
        self.view = judged.view
        self.rows = len(judged.table)

    def modes(self, edits: Iterable[Edit]) -> tuple[int, ...]:
        """What may follow from some edits: an attribute can stand alone; a letter or slot only
        shows in what follows.
        """
        own = all(what != "" or name in self.spec.parameters for (name, what), _ in edits)
        return (FOLLOW, HOLD, FREEZE) if own else (FOLLOW, HOLD)

    def edits(self, guard: Guard, row: int) -> Iterator[Sequence[Edit]]:
        """Edits of one row that may turn what the guard says; equal ones once."""
        numbers = self._levers(guard, row)
        seen: set[tuple[Edit, ...]] = set()
        for reference in guard.require.refs:
            for edits in self._of(reference, row, numbers):
                key = tuple(edits)
                if key not in seen:
                    seen.add(key)
                    yield edits

    def dropping(self, guard: Guard) -> Iterator[Sequence[Edit]]:
        """Null pointers in place of what a guard speaks of, and outputs that are not asked for any
        more.
        """
        for name in dict.fromkeys(name for name, _ in guard.require.refs):
            parameter = self.spec.parameters.get(name)
            if parameter is not None and (parameter.is_tensor or parameter.is_array):
                yield [((name, "null"), 1)]
                if parameter.mask is not None:
                    yield [((name, "null"), 1), *((asked, 0) for asked in parameter.mask.refs)]

    def any_of(self, references: Iterable[Reference], row: int) -> Iterator[Sequence[Edit]]:
        """Edits of some names of one row, whatever they lead to."""
        for reference in references:
            yield from self._of(reference, row, [])

    def _of(
        self, reference: Reference, row: int, numbers: list[tuple[int, int]]
    ) -> Iterator[Sequence[Edit]]:
        """Edits of one name, none of them to a number that columns could not hold or compute
        with.
        """
        for edits in self._all_of(reference, row, numbers):
            if all(
                abs(n) < _FAR
                for _, value in edits
                for n in (value if isinstance(value, tuple) else (value,))
            ):
                yield edits

    def _all_of(
        self, reference: Reference, row: int, numbers: list[tuple[int, int]]
    ) -> Iterator[Sequence[Edit]]:
        name, what = reference
        kind = self.spec.scope.kind(reference)
        if kind == "product":
            yield from (
                [(reference, vocabulary().index["product"][product])]
                for product in self.spec.judges
            )
        elif kind in ("dtype", "format"):
            yield from self._words(reference, kind, row)
        elif what == "null":
            yield [(reference, 1)]
        elif what == "len":
            yield from ([(reference, n)] for n in LENGTHS)
        elif kind == "bool":
            yield [(reference, 1 - self._value(reference, row))]
        elif what in ("rank", "shape"):
            yield from self._shapes(name, row, whole=what == "shape")
        elif what in ("lowest", "highest", "numel"):
            yield from self._parts(name, row, numbers, empty=what == "numel")
        else:
            yield from ([(reference, n)] for n in candidates(self._value(reference, row), numbers))

    def _words(self, reference: Reference, kind: str, row: int) -> Iterator[Sequence[Edit]]:
        """Another dtype or format, for one tensor, for all, or for all but this one."""
        current, shared = self._value(reference, row), (kind, "")
        known = {
            n
            for rule in self.spec.rules
            if rule.key == kind
            for guard in rule.guards
            for n in _numbers(guard)
        }
        others = [
            n
            for n in range(len(vocabulary().names[kind]))
            if n not in known and vocabulary().names[kind][n] != "UNDEFINED"
        ]
        step = max(1, len(others) // _OTHER_WORDS)
        for n in [*sorted(known), *others[::step]]:
            yield [(reference, n)]
            yield [(shared, n)]
            if n != current:
                yield [(shared, n), (reference, current)]

    def _shapes(self, name: str, row: int, whole: bool) -> Iterator[Sequence[Edit]]:
        column = self.judged.table.columns[name]
        assert isinstance(column, TensorColumn)
        shape = tuple(column.shape[row, : column.rank[row]].tolist())
        for rank in RANKS:
            cut = (
                shape[len(shape) - rank :]
                if rank <= len(shape)
                else (1,) * (rank - len(shape)) + shape
            )
            yield [((name, "shape"), cut)]
            if 0 < rank < len(shape):
                yield [((name, "shape"), (prod(shape[: len(shape) - rank + 1]), *cut[1:]))]
        if not whole:
            for rank in self.spec.parameters[name].shapes:
                yield [(("rank", ""), rank)]
                yield [(("rank", ""), rank), ((name, "rank"), len(shape))]
                yield [((name, "rank"), rank)]
        else:
            for i, extent in enumerate(shape):
                yield from ([((name, ("dim", i)), n)] for n in (extent + 1, extent - 1, extent * 2))

    def _parts(
        self, name: str, row: int, numbers: list[tuple[int, int]], empty: bool
    ) -> Iterator[Sequence[Edit]]:
        """The letters, extents or items that an extreme or a number of elements is made of."""
        column = self.judged.table.columns[name]
        parameter = self.spec.parameters[name]
        if isinstance(column, TensorColumn):
            size, values = int(column.rank[row]), column.shape[row]
            named: tuple[Any, ...] = parameter.shapes.get(size, ())
        else:
            assert isinstance(column, ArrayColumn)
            size, values = int(column.length[row]), column.values[row]
            named = tuple(slot[0] for slot in parameter.items.get(size, ()))
        for i in range(size):
            current = int(values[i])
            wanted = [0, current + 1, -1] if empty else candidates(current, numbers)
            if i < len(named) and isinstance(named[i], str):
                yield from ([((named[i], ""), n)] for n in wanted)
            where = ("dim", i) if isinstance(column, TensorColumn) else i
            yield from ([((name, where), n)] for n in wanted)

    def _value(self, reference: Reference, row: int) -> int:
        return int(np.broadcast_to(np.asarray(self.view.get(reference).data), self.rows)[row])

    def _levers(self, guard: Guard, row: int) -> list[tuple[int, int]]:
        """(left side, a right side) of the guard on this row, for numbers."""
        relation = guard.require
        if relation.left.kind != "int":
            return []
        left = relation.left.read(self.view)
        pairs = []
        for right in relation.right:
            x, y = formulas.over_one_divisor(left, right.read(self.view))
            pairs.append(
                tuple(int(np.broadcast_to(np.asarray(side), self.rows)[row]) for side in (x, y))
            )
        return pairs  # type: ignore[return-value]


def _numbers(guard: Guard) -> list[int]:
    """The constants that a guard compares with."""
    constants = [right.read(NOTHING) for right in guard.require.right if not right.refs]
    return [int(np.asarray(value.data).reshape(-1)[0]) for value in constants]


def candidates(current: int, numbers: list[tuple[int, int]]) -> list[int]:
    """Numbers near enough to tip a comparison of ``left`` with ``right`` when ``current`` is part
    of either.
    """
    near = {current + 1, current - 1, 0, -1, 2 * current}
    for left, right in numbers:
        gap = right - left
        for d in (-2, -1, 0, 1, 2):
            near |= {right + d, left + d, current + gap // 2 + d}
            near |= {current + times * gap + d for times in (-2, -1, 1, 2)}
            if left not in (0, 1):
                near.add(current * (right + d) // left)
    near.discard(current)
    return sorted(near, key=lambda n: (abs(n - current), n))


def distance(guard: Guard, view: View, rows: int) -> np.ndarray:
    """(rows,) float64: left minus the nearest right side of a comparison of numbers, in units of
    the finer side; 0 for other comparisons. An inequality stands at its limit where this is 0, a
    strict one where it is one unit.
    """
    relation = guard.require
    if relation.left.kind != "int":
        return np.zeros(rows)
    left = relation.left.read(view)
    gaps = []
    for right in relation.right:
        x, y = formulas.over_one_divisor(left, right.read(view))
        gaps.append(np.broadcast_to(np.asarray(x - y, dtype=np.float64), rows))
    nearest = np.stack(gaps)
    return np.asarray(np.take_along_axis(nearest, np.abs(nearest).argmin(axis=0)[None], axis=0)[0])
