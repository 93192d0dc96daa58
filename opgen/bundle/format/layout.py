"""Where every tensor of a bundle lies, decided before any data exist.

A layout is a pure function of the cases and of their tensors' sizes. Whoever holds one may write
any tensor at any time, from any process, and the file comes out the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from opgen.bundle.format.dtypes import (
    DTYPES,
    ROLES,
    WORDS,
    BundleError,
    numpy_dtype,
    room,
    stored_dtypes,
)
from opgen.bundle.format.seeds import Seeds
from opgen.bundle.format.tensorrow import DRAWN
from opgen.calls.categorical import Categorical
from opgen.calls.factorize import factorize
from opgen.calls.stored_tensors import StoredTensors

_LARGEST = 1 << 46
"""Elements of one tensor, and of one blob, beyond which no file is planned."""
_BYTES_PER_TENSOR, _BYTES_PER_CASE, _BYTES_PER_FILE = 96, 190, 48 << 10
"""About what tables, texts and HDF5 itself take."""


def spread(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Groups of ``counts`` rows each, one after the other: the group of every row, and its place
    within the group.

    >>> spread(np.array([2, 0, 1]))
    (array([0, 0, 2]), array([0, 1, 0]))
    """
    group = np.repeat(np.arange(len(counts)), counts)
    return group, np.arange(len(group)) - (np.cumsum(counts) - counts)[group]


@dataclass(frozen=True)
class Layout:
    """Columns with one row per tensor that has data, grouped by case, and the size of each blob.

    ``form`` is a number per case, the same for cases with the same tensors. ``position`` counts
    elements in the blob of the row's dtype, or is ``DRAWN``. Rows of a case are consecutive, in the
    order of its set.
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
    def of(cls, stored: StoredTensors, drawn: Seeds | None = None) -> Layout:
        """Lay out the data of cases, of whose inputs some are ``drawn`` where they are read.

        The data of cases whose tensors are alike are neighbours, in the order of the first of each
        kind, so that they can be written and read in one piece. Raises BundleError for a dtype that
        has no data and for sizes no file can hold.
        """
        if drawn is not None:
            stored = drawn.marked(stored)
        kinds, counts, sets = stored.kind.values, stored.counts, stored.of
        names, ends = Categorical.of([name for name, _, _ in kinds]), np.cumsum(counts)
        columns = np.stack([stored.kind.number, stored.elements], axis=1)
        raw, width = columns.tobytes(), columns.itemsize * columns.shape[1]
        alike, _ = factorize(
            raw[start * width : end * width] for start, end in pairwise([0, *ends.tolist()])
        )
        form = Categorical.of(alike[sets].tolist())  # in the order of the first case of each
        first = sets[form.first]
        # from here on, rows of forms, of which there are few where cases are alike
        of, place = spread(counts[first])
        kind, elements = columns[(ends - counts)[first][of] + place].T
        name = names.number.astype(np.int32)[kind]
        again = np.array([role == "drawn" for _, role, _ in kinds], dtype=bool)[kind]
        role = np.array([ROLES.get(role, 0) for _, role, _ in kinds], dtype=np.int8)[kind]
        dtype = np.array([DTYPES[dtype] for _, _, dtype in kinds], dtype=np.int8)[kind]
        cases, among = _ranks(form.number, len(first))
        position, step, blobs = _positions(dtype, np.where(again, 0, elements), of, cases)
        position[again], step[again] = DRAWN, 0
        count = counts[sets]
        case = np.repeat(np.arange(len(sets), dtype=np.uint32), count)
        starts = np.cumsum(counts[first]) - counts[first]
        row = np.arange(len(case)) + np.repeat(
            starts[form.number] - (np.cumsum(count) - count), count
        )
        return cls(
            len(sets),
            tuple(names.values),
            form.number,
            case,
            name[row],
            role[row],
            dtype[row],
            elements[row],
            position[row] + np.repeat(among, count) * step[row],
            blobs,
        )

    @property
    def data_bytes(self) -> int:
        """Bytes of the blobs, padding included."""
        return sum(elements * numpy_dtype(name).itemsize for name, elements in self.blobs.items())

    @property
    def bytes(self) -> int:
        """The size of the file, estimated: the blobs are exact, the tables are not."""
        return (
            self.data_bytes
            + _BYTES_PER_TENSOR * len(self.case)
            + _BYTES_PER_CASE * self.cases
            + _BYTES_PER_FILE
        )

    @cached_property
    def starts(self) -> np.ndarray:
        """(cases + 1,) the first row of each case, and the end."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.case, minlength=self.cases))])

    @cached_property
    def codes(self) -> dict[tuple[str, str], int]:
        """(name, role) to the number of such a tensor within a case."""
        return {
            (name, role): number * len(ROLES) + role_number
            for number, name in enumerate(self.names)
            for role, role_number in ROLES.items()
        }

    def rows(self, case: np.ndarray, code: np.ndarray) -> np.ndarray:
        """The layout row of each tensor of each case, -1 where there is none; ``code`` is -1 for
        what no case has.
        """
        keys, places = self._places
        known = (case >= 0) & (case < self.cases) & (code >= 0)
        if not known.any() or not len(keys):
            return np.full(len(case), -1)
        case = np.where(known, case, 0)
        wanted = self.form[case] * (len(self.names) * len(ROLES)) + code
        nearest = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        there = (keys[nearest] == wanted) & known
        return np.where(there, self.starts[case] + places[nearest], -1)

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """The tensors of every form, in order, and the place of each in a case."""
        first = np.unique(self.form, return_index=True)[1]
        form, place = spread(np.diff(self.starts)[first])
        row = self.starts[first][form] + place
        keys = form * (len(self.names) * len(ROLES)) + self.name[row] * len(ROLES) + self.role[row]
        order = np.argsort(keys, kind="stable")
        return keys[order], place[order]


def _ranks(group: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """How many rows each group has, and which of its group's each row is."""
    counts, rank = np.bincount(group, minlength=groups), np.empty(len(group), dtype=np.int64)
    rank[np.argsort(group, kind="stable")] = spread(counts)[1]
    return counts, rank


def _positions(
    dtype: np.ndarray, elements: np.ndarray, form: np.ndarray, cases: np.ndarray
) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Position of every tensor of a form's first case in the blob of its dtype; how far on it is
    for the next case; the blobs' elements. Each ``form`` has so many ``cases``.
    """
    position, step = np.zeros((2, len(elements)), dtype=np.int64)
    blobs: dict[str, int] = {}
    known = set(np.flatnonzero(np.bincount(dtype)).tolist())
    for name in stored_dtypes():
        number = DTYPES[name]
        if number not in known:
            continue
        known.discard(number)
        rows = np.flatnonzero(dtype == number)
        if not 0 <= elements[rows].min() <= elements[rows].max() <= _LARGEST:
            raise BundleError(
                f"a tensor of {name} has {elements[rows].min()} to {elements[rows].max()} elements,"
                " which no file can hold"
            )
        of, taken = form[rows], room(elements[rows], numpy_dtype(name).itemsize)
        needed = float(taken.astype(np.float64) @ cases[of])
        if needed > _LARGEST:
            raise BundleError(
                f"the data of {name} need {needed:.0f} elements: more than a file can hold; split"
                " the suite with --shard"
            )
        each = np.bincount(of, weights=taken, minlength=len(cases)).astype(
            np.int64
        )  # exact, since all together are few enough
        first, counted = np.cumsum(cases * each) - cases * each, np.cumsum(each) - each
        position[rows], step[rows] = (first - counted)[of] + np.cumsum(taken) - taken, each[of]
        blobs[name] = int(cases @ each)
    for number in known:
        numpy_dtype(WORDS[number])  # which says that such data cannot be stored
    return position, step, blobs
