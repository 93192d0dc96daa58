"""Which tensors of a call are kept in a bundle, and how many elements each takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from opgen.calls.layout import storage_elements, volume
from opgen.calls.table import CallTable, TensorColumn
from opgen.calls.vocabulary import vocabulary
from opgen.numerics.formats import DTYPES
from opgen.spec.spec import Spec

Kind: TypeAlias = tuple[str, str, str]
"""A tensor without its size: its parameter, role (``input``, ``golden``, ``bound``) and dtype."""

_nothing = partial(np.zeros, 1, dtype=np.int64)
_none = partial(np.zeros, 0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Stored:
    """The tensors that cases keep: case ``i`` those of set ``of[i]``, of which the first has none.

    ``counts`` (sets,) says how many each set has, one set's tensors behind another's. Of each of
    them, ``kind`` is the number of its kind and ``elements`` what it takes. Iterating gives the
    tensors of each case: parameter, role, dtype, elements.
    """

    kinds: tuple[Kind, ...] = ()  # all different
    kind: np.ndarray = field(default_factory=_none)
    elements: np.ndarray = field(default_factory=_none)
    counts: np.ndarray = field(default_factory=_nothing)
    of: np.ndarray = field(default_factory=_none)

    def take(self, cases: Sequence[int] | np.ndarray) -> Stored:
        """What the cases at these places keep."""
        return replace(self, of=self.of[np.asarray(cases, dtype=np.int64)])

    def __add__(self, other: Stored) -> Stored:
        kinds = tuple(dict.fromkeys(self.kinds + other.kinds))
        moved = np.array([kinds.index(kind) for kind in other.kinds], dtype=np.int64)
        return Stored(
            kinds,
            np.concatenate([self.kind, moved[other.kind]]),
            np.concatenate([self.elements, other.elements]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.of, other.of + len(self.counts)]),
        )

    def __iter__(self) -> Iterator[list[tuple[str, str, str, int]]]:
        ends = np.cumsum(self.counts)
        for end, count in zip(ends[self.of].tolist(), self.counts[self.of].tolist(), strict=True):
            some = slice(end - count, end)
            yield [
                (*self.kinds[kind], size)
                for kind, size in zip(
                    self.kind[some].tolist(), self.elements[some].tolist(), strict=True
                )
            ]


def stored(
    spec: Spec, table: CallTable, wanted: Mapping[str, np.ndarray], used: np.ndarray, of: np.ndarray
) -> Stored:
    """Every input, and a golden and a bound per output that is ``wanted`` (output -> (rows,) bool).

    Case ``i`` makes the call in row ``used[of[i]]`` of the table; where ``of[i]`` is -1 it has no
    data, and keeps nothing.
    """
    slots: list[tuple[str, str]] = []
    there, dtypes, sizes = [], [], []
    for name in (*(p.name for p in spec.inputs), *wanted):
        column = table.columns[name]
        assert isinstance(column, TensorColumn)
        size, held = (
            (volume(column.shape), wanted[name])
            if name in wanted
            else (storage_elements(column), ~column.null)
        )
        for role in ("golden", "bound") if name in wanted else ("input",):
            slots.append((name, role))
            there.append(held[used])
            dtypes.append(column.dtype[used])
            sizes.append(size[used])
    held, known = np.array(there).T, vocabulary().names["dtype"]
    codes = (np.array(dtypes, dtype=np.int64).T + np.arange(len(slots)) * len(known))[held]
    present = np.zeros(len(slots) * len(known), dtype=bool)
    present[codes] = True
    kept = [
        _kept(*slots[code // len(known)], known[code % len(known)])
        for code in np.flatnonzero(present).tolist()
    ]
    kinds = tuple(dict.fromkeys(kept))
    kind = np.array([kinds.index(each) for each in kept], dtype=np.int64)[
        (np.cumsum(present) - 1)[codes]
    ]
    counts = np.concatenate([[0], np.count_nonzero(held, axis=1)])
    return Stored(kinds, kind, np.array(sizes).T[held].astype(np.int64), counts, of + 1)


def _kept(name: str, role: str, dtype: str) -> Kind:
    """A tensor of a parameter of this dtype in the dtype that it is kept in, of which goldens and
    bounds of several have the same.
    """
    return (
        name,
        role,
        (
            dtype
            if role == "input"
            else DTYPES[dtype].golden
            if role == "golden"
            else DTYPES[dtype].bound
        ),
    )
