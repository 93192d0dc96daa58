"""Tensors into a file of known layout: many equal ones at once, from any process, each with its
digest.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, repeat
from pathlib import Path

import numpy as np

from opgen.bundle.format.closing import Closing
from opgen.bundle.format.digest import DIGEST_TYPE, Bytes, Digested, digest_column
from opgen.bundle.format.dtypes import (
    ALIGNMENT,
    DTYPES,
    WORDS,
    BundleError,
    numpy_dtype,
    stored_dtypes,
)
from opgen.bundle.format.file_bytes import write_at
from opgen.bundle.format.layout import Layout, spread
from opgen.bundle.format.tensorrow import DRAWN

_LARGE = 1 << 16  # from here on a tensor is written straight from the caller's array
_PIECE = 4 << 20  # bytes gathered before a write
_PADDING = [bytes(size) for size in range(ALIGNMENT)]

Arrays = Mapping[tuple[str, str], np.ndarray | Digested]
_NUMBERS = {numpy_dtype(word): DTYPES[word] for word in stored_dtypes()}
_NOTHING = -2
_ITEMS = np.zeros(max(DTYPES.values()) + 1, dtype=np.int64)
for _name in stored_dtypes():
    _ITEMS[DTYPES[_name]] = numpy_dtype(_name).itemsize


@dataclass
class Blocks(Closing):
    """A way into the blobs of an unfinished file, for every process that writes cases of its
    own.
    """

    path: Path
    layout: Layout
    offsets: dict[str, int]
    _fd: int = -1

    def write(
        self, batches: Iterable[tuple[Sequence[int] | np.ndarray, Arrays]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Write (name, role) -> (B, ...) arrays, one entry per case row, of several batches; what
        lies side by side in the file goes out in one write. Returns layout rows and their digests.

        An array has the numpy type of its stored dtype (uint16 is taken as the bits of BFLOAT16),
        and per case as many elements as planned.
        """
        stacks = _Stacks.of(batches)
        if not stacks.arrays:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=DIGEST_TYPE)
        planned, pieces = self._planned(stacks), stacks.pieces()
        self.put(planned, pieces)
        return planned, digest_column(pieces)

    def spans(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where tensors begin in the file, and their bytes there, by row of the layout; drawn ones
        have none.
        """
        dtype, position = self.layout.dtype[rows], self.layout.position[rows]
        item, there = _ITEMS[dtype], position != DRAWN
        return (
            self._bases[dtype] + position * item * there,
            self.layout.elements[rows] * item * there,
        )

    def _planned(self, stacks: _Stacks) -> np.ndarray:
        """The layout row of every case of every stack; BundleError where one is not as planned."""
        layout, stack = self.layout, stacks.stack
        codes = np.array(list(map(layout.codes.get, stacks.keys, repeat(-1))), dtype=np.int64)
        kinds = [array.dtype for array in stacks.arrays]
        dtypes = np.array(list(map(_NUMBERS.get, kinds, repeat(_NOTHING))))
        sizes = np.array([array.size for array in stacks.arrays], dtype=np.int64)
        planned = layout.rows(stacks.case, codes[stack])
        right = (
            (planned >= 0)
            & (layout.dtype[planned] == dtypes[stack])
            & (layout.elements[planned] == (sizes // stacks.counts)[stack])
        )
        if not right.all() or list(map(len, stacks.arrays)) != stacks.counts.tolist():
            stacks.check(planned, layout)
        return planned

    @cached_property
    def _bases(self) -> np.ndarray:
        """Where the blob of each dtype begins, by the dtype's number."""
        bases = np.zeros(len(_ITEMS), dtype=np.int64)
        for name, number in DTYPES.items():
            bases[number] = self.offsets.get(f"data/{name}", 0)
        return bases

    def put(self, rows: np.ndarray, pieces: Sequence[Bytes]) -> None:
        """Write the bytes of tensors, by row of the layout; those with nothing but padding between
        them in one go, large ones from where they are.
        """
        starts, sizes = self.spans(rows)
        fd = self._open()
        order = np.argsort(starts, kind="stable")
        order = order[sizes[order] > 0]
        starts, sizes = starts[order], sizes[order]
        gaps = starts[1:] - starts[:-1] - sizes[:-1]
        apart = (
            (gaps >= ALIGNMENT)
            | (sizes[1:] >= _LARGE)
            | (sizes[:-1] >= _LARGE)
            | (starts[1:] // _PIECE != starts[:-1] // _PIECE)
        )
        edges = [0, *(np.flatnonzero(apart) + 1).tolist(), len(order)]
        padded: list[Bytes] = [b""] * (2 * len(order))
        padded[::2] = map(pieces.__getitem__, order.tolist())
        padded[1:-1:2] = map(_PADDING.__getitem__, np.where(apart, 0, gaps).tolist())
        for first, end in pairwise(edges):
            if end == first + 1:
                write_at(fd, np.frombuffer(padded[2 * first], dtype=np.uint8), int(starts[first]))
            elif end > first:
                write_at(fd, b"".join(padded[2 * first : 2 * end - 1]), int(starts[first]))

    def _open(self) -> int:
        if self._fd < 0:
            self._fd = os.open(self.path, os.O_RDWR)
        return self._fd

    def close(self) -> None:
        """Let go of the file; it is opened again when needed."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@dataclass(frozen=True)
class _Stacks:
    """Tensors of many cases, (B, ...) each: their (name, role), and how many cases; for every
    tensor its stack and its case.
    """

    keys: list[tuple[str, str]]
    arrays: list[np.ndarray | Digested]
    counts: np.ndarray
    stack: np.ndarray
    case: np.ndarray

    @classmethod
    def of(cls, batches: Iterable[tuple[Sequence[int] | np.ndarray, Arrays]]) -> _Stacks:
        """The stacks of batches, one after the other."""
        given = [
            (np.asarray(rows, dtype=np.int64), arrays) for rows, arrays in batches if len(rows)
        ]
        batch = np.repeat(np.arange(len(given)), [len(arrays) for _, arrays in given])
        sizes = np.array([len(rows) for rows, _ in given], dtype=np.int64)
        counts = sizes[batch]
        stack, within = spread(counts)
        rows = np.concatenate([rows for rows, _ in given]) if given else sizes
        return cls(
            keys=list(chain.from_iterable(arrays for _, arrays in given)),
            arrays=[
                array if isinstance(array, Digested) else np.ascontiguousarray(array)
                for _, arrays in given
                for array in arrays.values()
            ],
            counts=counts,
            stack=stack,
            case=rows[(np.cumsum(sizes) - sizes)[batch][stack] + within],
        )

    def pieces(self) -> list[Bytes]:
        """The bytes of every tensor, where they are."""
        stacks = (
            (array,)
            if len(array) == 1 or isinstance(array, Digested)
            else array.reshape(len(array), -1)
            for array in self.arrays
        )
        return list(chain.from_iterable(stacks))

    def check(self, planned: np.ndarray, layout: Layout) -> None:
        """Raise a BundleError that says what is not as planned, if anything; ``planned`` are
        the layout rows.
        """
        ends = np.cumsum(self.counts)
        for (name, role), array, count, end in zip(
            self.keys, self.arrays, self.counts.tolist(), ends.tolist(), strict=True
        ):
            rows = planned[end - count : end]
            if rows.min() < 0:
                raise BundleError(
                    f"case row {self.case[end - count + rows.argmin()]} has no {role} {name} in the"
                    " layout"
                )
            dtype = WORDS[int(layout.dtype[rows[0]])]
            if array.dtype != numpy_dtype(dtype) and not (
                dtype == "BFLOAT16" and array.dtype == np.uint16
            ):
                raise BundleError(f"{name}: an array of {array.dtype} where {dtype} is planned")
            if len(array) != count:
                raise BundleError(f"{name}: {len(array)} arrays for {count} cases")
            elements = array.size // count
            if (layout.elements[rows] != elements).any() or (
                layout.dtype[rows] != DTYPES[dtype]
            ).any():
                raise BundleError(
                    f"{role} {name}: {elements} elements of {dtype} are not as planned"
                )
