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
from opgen.bundle.dtypes import ALIGNMENT, DTYPES, ROLES, BundleError, numpy_dtype
from opgen.bundle.layout import Layout

DIGEST = 16
"""Bytes of a tensor's digest: the first half of its SHA-256."""

_LARGE = 1 << 16  # from here on a tensor is written straight from the caller's array
_PIECE = 4 << 20  # bytes gathered before a write
_HASHED_ASIDE = 1 << 20  # from here on a digest is computed while the data are written

Arrays = Mapping[tuple[str, str], np.ndarray]
_WORDS = {number: word for word, number in DTYPES.items()}
_ROLE_WORDS = {number: word for word, number in ROLES.items()}


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
        written: list[np.ndarray] = []
        flats: list[np.ndarray] = []
        groups: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for rows, arrays in batches:
            rows = np.asarray(rows, dtype=np.int64)
            for (name, role), stack in arrays.items() if len(rows) else ():
                found, dtype, flat = self._planned(rows, name, role, stack)
                written.append(found)
                flats.append(flat)
                if flat.size:
                    groups.setdefault(dtype, []).append((found, flat))
        if not written:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=f"V{DIGEST}")
        if max(flat.shape[1] for flat in flats) < _HASHED_ASIDE:
            digests = _digests(flats)
            self._put_all(groups)
        else:  # hashing and writing both let go of the interpreter
            with ThreadPoolExecutor(1) as pool:
                job = pool.submit(_digests, flats)
                self._put_all(groups)
                digests = job.result()
        return np.concatenate(written), np.frombuffer(digests, dtype=f"V{DIGEST}")

    def _planned(self, rows: np.ndarray, name: str, role: str, stack: np.ndarray) -> tuple[np.ndarray, str, np.ndarray]:
        """Where one array goes: its layout rows, their dtype, and the array as (B, bytes per case)."""
        found = self.layout.find(name, role)[rows]
        if found.min() < 0:
            raise BundleError(f"case row {rows[found.argmin()]} has no {role} {name} in the layout")
        number = int(self.layout.dtype[found[0]])
        dtype = _WORDS[number]
        flat = _bytes(stack, dtype, name, len(rows))
        item = numpy_dtype(dtype).itemsize
        if (self.layout.elements[found] * item != flat.shape[1]).any() or (self.layout.dtype[found] != number).any():
            raise BundleError(f"{role} {name}: {flat.shape[1] // item} elements of {dtype} are not as planned")
        return found, dtype, flat

    def _put_all(self, groups: Mapping[str, Sequence[tuple[np.ndarray, np.ndarray]]]) -> None:
        """Write arrays, by dtype, to the places of their layout rows."""
        for dtype, pieces in groups.items():
            item = numpy_dtype(dtype).itemsize
            starts = self.layout.position[np.concatenate([found for found, _ in pieces])] * item
            sizes = np.repeat([flat.shape[1] for _, flat in pieces], [len(flat) for _, flat in pieces])
            views = [one for _, flat in pieces for one in _cut(flat)]
            self._put(self.offsets[f"data/{dtype}"], starts, sizes, views)

    def _put(self, base: int, starts: np.ndarray, sizes: np.ndarray, views: Sequence[memoryview]) -> None:
        """Write pieces of one blob; those with nothing but padding between them in one go, large ones from where they are."""
        fd = self._open()
        order = np.argsort(starts)
        starts, sizes = starts[order], sizes[order]
        apart = (starts[1:] - starts[:-1] - sizes[:-1] >= ALIGNMENT) | (sizes[1:] >= _LARGE) | (sizes[:-1] >= _LARGE)
        apart |= starts[1:] // _PIECE != starts[:-1] // _PIECE
        edges = [0, *(np.flatnonzero(apart) + 1).tolist(), len(order)]
        places, at = order.tolist(), starts.tolist()
        for first, end in pairwise(edges):
            if end == first + 1:
                write_at(fd, views[places[first]], base + at[first])
                continue
            low = at[first]
            buffer = memoryview(bytearray(at[end - 1] + len(views[places[end - 1]]) - low))
            for i in range(first, end):
                view, start = views[places[i]], at[i] - low
                buffer[start : start + len(view)] = view
            write_at(fd, buffer, base + low)

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


def _digests(flats: Iterable[np.ndarray]) -> bytes:
    return b"".join([sha256(one).digest()[:DIGEST] for flat in flats for one in _cut(flat)])


def _cut(flat: np.ndarray) -> list[memoryview]:
    """The rows of (B, bytes), each as bytes."""
    count, size = flat.shape
    view = flat.reshape(-1).data
    return [view[at : at + size] for at in range(0, count * size, size)] if size else [view] * count


def _bytes(stack: np.ndarray, dtype: str, name: str, count: int) -> np.ndarray:
    """(B, ...) -> (B, bytes per case) uint8, without a copy where possible."""
    array = np.asarray(stack)
    wanted = numpy_dtype(dtype)
    if array.dtype != wanted and not (dtype == "BFLOAT16" and array.dtype == np.uint16):
        raise BundleError(f"{name}: an array of {array.dtype} where {dtype} is planned")
    if len(array) != count:
        raise BundleError(f"{name}: {len(array)} arrays for {count} cases")
    size = array.size // count * wanted.itemsize
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(count, size)
