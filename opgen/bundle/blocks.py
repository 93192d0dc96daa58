"""Tensors into a file of known layout: many equal ones at once, from any process, each with its digest."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from types import TracebackType

import numpy as np

from opgen.bundle.container import write_at
from opgen.bundle.dtypes import ALIGNMENT, DTYPES, BundleError, numpy_dtype, stored_dtypes
from opgen.bundle.layout import Layout

DIGEST = 16
"""Bytes of a tensor's digest: the first half of its SHA-256."""

_LARGE = 1 << 16  # from here on a tensor is written straight from the caller's array
_PIECE = 4 << 20  # bytes gathered before a write
_HASHED_ASIDE = 1 << 20  # from here on a digest is computed while the data are written

Arrays = Mapping[tuple[str, str], np.ndarray]
_WORDS = {number: word for word, number in DTYPES.items()}
_NUMBERS = {numpy_dtype(word): DTYPES[word] for word in stored_dtypes()}
_NOTHING = -2
_ITEMS = np.zeros(max(DTYPES.values()) + 1, dtype=np.int64)
for _name in stored_dtypes():
    _ITEMS[DTYPES[_name]] = numpy_dtype(_name).itemsize


@dataclass
class Blocks:
    """A way into the blobs of an unfinished file. Pickles, so that workers can write disjoint cases themselves."""

    path: Path
    layout: Layout
    offsets: dict[str, int]
    _fd: int = -1

    def write(self, rows: Sequence[int] | np.ndarray, arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
        """Write (name, role) -> (B, ...) arrays, one entry per case row; returns layout rows and their digests.

        An array has the numpy type of its stored dtype (uint16 is taken as the bits of BFLOAT16), and per case
        as many elements as planned.
        """
        return self.write_all([(rows, arrays)])

    def write_all(self, batches: Iterable[tuple[Sequence[int] | np.ndarray, Arrays]]) -> tuple[np.ndarray, np.ndarray]:
        """The same for several batches; what lies side by side in the file goes out in one write."""
        stacks = [
            _Stack(name, role, np.asarray(rows, dtype=np.int64), np.asarray(stack))
            for rows, arrays in batches
            if len(rows)
            for (name, role), stack in arrays.items()
        ]
        if not stacks:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=f"V{DIGEST}")
        found = self._planned(stacks)
        views = [view for stack in stacks for view in stack.views()]
        item = _ITEMS[self.layout.dtype[found]]
        starts = self._bases()[self.layout.dtype[found]] + self.layout.position[found] * item
        sizes = self.layout.elements[found] * item
        if int(sizes.max()) < _HASHED_ASIDE:
            digests = _digests(views)
            self._put(starts, sizes, views)
        else:  # hashing and writing both let go of the interpreter
            with ThreadPoolExecutor(1) as pool:
                job = pool.submit(_digests, views)
                self._put(starts, sizes, views)
                digests = job.result()
        return found, np.frombuffer(digests, dtype=f"V{DIGEST}")

    def _planned(self, stacks: Sequence[_Stack]) -> np.ndarray:
        """The layout row of every case of every stack; BundleError where one is not as planned."""
        layout = self.layout
        counts = [len(stack.rows) for stack in stacks]
        codes = np.repeat([layout.code(stack.name, stack.role) for stack in stacks], counts)
        found = layout.rows(np.concatenate([stack.rows for stack in stacks]), codes)
        sizes = np.repeat([stack.array.nbytes // len(stack.rows) for stack in stacks], counts)
        given = np.repeat([_NUMBERS.get(stack.array.dtype, _NOTHING) for stack in stacks], counts)
        planned = layout.dtype[found]
        known = (given == planned) | ((given == DTYPES["UINT16"]) & (planned == DTYPES["BFLOAT16"]))
        right = (found >= 0) & known & (layout.elements[found] * _ITEMS[planned] == sizes)
        if not right.all() or any(len(stack.array) != len(stack.rows) for stack in stacks):
            at = 0
            for stack, count in zip(stacks, counts, strict=True):
                stack.check(found[at : at + count], layout)
                at += count
        return found

    def _bases(self) -> np.ndarray:
        """Where the blob of each dtype begins, by the dtype's number."""
        bases = np.zeros(len(_ITEMS), dtype=np.int64)
        for name, number in DTYPES.items():
            bases[number] = self.offsets.get(f"data/{name}", 0)
        return bases

    def _put(self, starts: np.ndarray, sizes: np.ndarray, views: Sequence[memoryview]) -> None:
        """Write pieces; those with nothing but padding between them in one go, large ones from where they are."""
        fd = self._open()
        order = np.argsort(starts, kind="stable")
        order = order[sizes[order] > 0]
        starts, sizes = starts[order], sizes[order]
        apart = (starts[1:] - starts[:-1] - sizes[:-1] >= ALIGNMENT) | (sizes[1:] >= _LARGE) | (sizes[:-1] >= _LARGE)
        apart |= starts[1:] // _PIECE != starts[:-1] // _PIECE
        edges = [0, *(np.flatnonzero(apart) + 1).tolist(), len(order)]
        pieces, at, ends = [views[place] for place in order.tolist()], starts.tolist(), (starts + sizes).tolist()
        for first, end in pairwise(edges):
            if end == first + 1:
                write_at(fd, pieces[first], at[first])
            elif end > first:
                low = at[first]
                buffer = memoryview(bytearray(ends[end - 1] - low))
                for i in range(first, end):
                    buffer[at[i] - low : ends[i] - low] = pieces[i]
                write_at(fd, buffer, low)

    def _open(self) -> int:
        if self._fd < 0:
            self._fd = os.open(self.path, os.O_RDWR)
        return self._fd

    def close(self) -> None:
        """Let go of the file; it is opened again when needed."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Blocks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_fd": -1}


@dataclass(frozen=True, slots=True)
class _Stack:
    """One tensor of many cases, (B, ...), and their rows."""

    name: str
    role: str
    rows: np.ndarray
    array: np.ndarray

    def views(self) -> list[memoryview]:
        """The bytes of each case, without a copy where possible."""
        view = np.ascontiguousarray(self.array).reshape(-1).view(np.uint8).data
        size = len(view) // len(self.rows)
        return [view[at : at + size] for at in range(0, len(view), size)] if size else [view] * len(self.rows)

    def check(self, found: np.ndarray, layout: Layout) -> None:
        """Raise a BundleError that says what is not as planned."""
        if found.min() < 0:
            raise BundleError(f"case row {self.rows[found.argmin()]} has no {self.role} {self.name} in the layout")
        dtype = _WORDS[int(layout.dtype[found[0]])]
        if self.array.dtype != numpy_dtype(dtype) and not (dtype == "BFLOAT16" and self.array.dtype == np.uint16):
            raise BundleError(f"{self.name}: an array of {self.array.dtype} where {dtype} is planned")
        if len(self.array) != len(self.rows):
            raise BundleError(f"{self.name}: {len(self.array)} arrays for {len(self.rows)} cases")
        elements = self.array.size // len(self.rows)
        if (layout.elements[found] != elements).any() or (layout.dtype[found] != DTYPES[dtype]).any():
            raise BundleError(f"{self.role} {self.name}: {elements} elements of {dtype} are not as planned")


def _digests(views: Iterable[memoryview]) -> bytes:
    return b"".join([sha256(view).digest()[:DIGEST] for view in views])
