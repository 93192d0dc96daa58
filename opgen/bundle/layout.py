"""Where every tensor of a bundle lies, decided before any data exist.

A layout is a pure function of the cases and of their tensors' sizes. Whoever holds one may write any
tensor at any time, from any process, and the file comes out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from opgen.bundle.column import Column, spread
from opgen.bundle.dtypes import DTYPES, ROLES, WORDS, BundleError, numpy_dtype, room, stored_dtypes

_LARGEST = 1 << 46
"""Elements of one tensor, and of one blob, beyond which no file is planned."""
_BYTES_PER_TENSOR, _BYTES_PER_CASE, _BYTES_PER_FILE = 96, 190, 48 << 10
"""About what tables, texts and HDF5 itself take."""


class DataTensor(NamedTuple):
    """One tensor with data: its parameter, role (``input``, ``golden``, ``bound``), dtype and stored elements.

    ``elements`` is a number, or a shape; an input's are those of its whole backing storage.
    """

    name: str
    role: str
    dtype: str
    elements: int | tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """Columns with one row per tensor that has data, grouped by case, and the size of each blob.

    ``form`` is a number per case, the same for cases with the same
    tensors. ``position`` counts elements in the blob of the row's dtype. Rows of a case are consecutive, and
    their order is that of :meth:`plan`'s argument.
    """

    cases: int
    names: tuple[str, ...]
    form: np.ndarray
    case: np.ndarray
    name: np.ndarray
    role: np.ndarray
    dtype: np.ndarray
    elements: np.ndarray
    position: np.ndarray
    blobs: dict[str, int]

    @classmethod
    def plan(cls, cases: Sequence[Any], tensors: Iterable[Iterable[tuple[Any, ...]]]) -> Layout:
        """Lay out ``tensors`` (per case, its :class:`DataTensor` rows, empty for a first-phase case).

        The data of cases whose tensors are alike are neighbours, in the order of the first of each kind, so that they can be
        written and read in one piece.
        Raises BundleError for a dtype that has no data and for sizes no file can hold.
        """
        given = Column.same([rows if isinstance(rows, list) else list(rows) for rows in tensors])
        if len(given.number) != len(cases):
            raise BundleError(f"a layout needs the tensors of every case: {len(cases)} cases, {len(given.number)} lists")
        rows = list(chain.from_iterable(given.values))
        counts = np.fromiter(map(len, given.values), dtype=np.int64, count=len(given.values))
        kinds, ends = Column.of([tuple(row[:3]) for row in rows]), np.cumsum(counts)
        elements = _extents(rows, lambda at: given.first[np.searchsorted(ends, at, side="right")])
        return cls.of(kinds.values, kinds.number, elements, counts, given.number)

    @classmethod
    def of(
        cls, kinds: Sequence[tuple[str, str, str]], kind: np.ndarray, elements: np.ndarray, counts: np.ndarray, sets: np.ndarray
    ) -> Layout:
        """The same of columns: case ``i`` has the tensors of set ``sets[i]``.

        ``counts`` says how many each set has, one set's behind another's; each of them is of one of some ``kinds`` (name, role,
        dtype), all different, and has so many ``elements``.
        """
        names = Column.of([name for name, _, _ in kinds])
        columns, ends = np.stack([kind, elements], axis=1), np.cumsum(counts)
        raw, width = columns.tobytes(), columns.itemsize * columns.shape[1]
        alike = Column.of([raw[start * width : end * width] for start, end in pairwise([0, *ends.tolist()])])
        form = Column.of(alike.number[sets].tolist()).number  # in the order of the first case of each
        case, within = spread(counts[sets])
        kind, elements = columns.T.take((ends - counts)[sets][case] + within, axis=1)
        name, role, dtype = np.array(
            [(number, ROLES[role], DTYPES[dtype]) for number, (_, role, dtype) in zip(names.number.tolist(), kinds, strict=True)],
            dtype=np.int64,
        ).reshape(-1, 3).T.take(kind, axis=1)  # fmt: skip
        position, blobs = _positions(dtype, elements, _order(form, counts[sets]))
        return cls(
            len(sets), tuple(names.values), form, case.astype(np.uint32), name.astype(np.int32), role.astype(np.int8),
            dtype.astype(np.int8), elements.copy(), position, blobs,
        )  # fmt: skip

    @property
    def data_bytes(self) -> int:
        """Bytes of the blobs, padding included."""
        return sum(elements * numpy_dtype(name).itemsize for name, elements in self.blobs.items())

    @property
    def bytes(self) -> int:
        """The size of the file, estimated: the blobs are exact, the tables are not."""
        return self.data_bytes + _BYTES_PER_TENSOR * len(self.case) + _BYTES_PER_CASE * self.cases + _BYTES_PER_FILE

    @cached_property
    def starts(self) -> np.ndarray:
        """(cases + 1,) the first row of each case, and the end."""
        return np.searchsorted(self.case, np.arange(self.cases + 1))

    @cached_property
    def codes(self) -> dict[tuple[str, str], int]:
        """(name, role) to the number of such a tensor within a case."""
        return {(name, role): number * len(ROLES) + at for number, name in enumerate(self.names) for role, at in ROLES.items()}

    def rows(self, case: np.ndarray, code: np.ndarray) -> np.ndarray:
        """The layout row of each tensor of each case, -1 where there is none; ``code`` is -1 for what no case has."""
        order, keys = self._index
        wanted = case * (len(self.names) * len(ROLES)) + code
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((keys[at] == wanted) & (code >= 0), order[at], -1) if len(keys) else np.full(len(case), -1)

    @cached_property
    def _index(self) -> tuple[np.ndarray, np.ndarray]:
        keys = self.case.astype(np.int64) * (len(self.names) * len(ROLES)) + self.name * len(ROLES) + self.role
        order = np.argsort(keys, kind="stable")
        return order, keys[order]


def _extents(rows: Sequence[tuple[Any, ...]], case: Callable[[int], int]) -> np.ndarray:
    """(rows,) the elements of each tensor; BundleError, with the ``case`` of the row, where no file can hold them."""
    sizes = map(itemgetter(3), rows)
    extents = [size if type(size) is int else prod(size) if isinstance(size, (tuple, list)) else int(size) for size in sizes]
    if not 0 <= min(extents, default=0) <= max(extents, default=0) <= _LARGEST:
        wrong = next(at for at, extent in enumerate(extents) if not 0 <= extent <= _LARGEST)
        raise BundleError(f"case row {case(wrong)}, {rows[wrong][0]}: a tensor of {extents[wrong]} elements cannot be stored")
    return np.fromiter(extents, dtype=np.int64, count=len(extents))


def _order(form: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The rows of all cases, of which each has ``counts``, with those of cases of one form behind each other."""
    cases = np.argsort(form, kind="stable")
    case, within = spread(counts[cases])
    order: np.ndarray = (np.cumsum(counts) - counts)[cases][case] + within
    return order


def _positions(dtype: np.ndarray, elements: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
    """Position of every row in the blob of its dtype, in this ``order``; and the blobs' elements."""
    position = np.zeros(len(elements), dtype=np.int64)
    blobs: dict[str, int] = {}
    kinds = dtype[order]
    known = set(np.flatnonzero(np.bincount(kinds)).tolist())
    for name in stored_dtypes():
        number = DTYPES[name]
        if number not in known:
            continue
        known.discard(number)
        rows = order[kinds == number]
        ends = np.cumsum(room(elements[rows], numpy_dtype(name).itemsize))
        position[rows] = np.concatenate([[0], ends[:-1]])
        blobs[name] = int(ends[-1])
        if not 0 <= blobs[name] <= _LARGEST:
            raise BundleError(f"the data of {name} need {blobs[name]} elements: more than a file can hold; split the suite with --shard")
    for number in known:
        numpy_dtype(WORDS[number])  # which says that such data cannot be stored
    return position, blobs
