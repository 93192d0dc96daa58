"""Tensors into a file of known layout: many equal ones at once, from any process, each with its digest."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
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
        as many elements as planned. Cases that are neighbours in the layout go out in one write.
        """
        rows = np.asarray(rows, dtype=np.int64)
        groups: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        written: list[np.ndarray] = []
        flats: list[np.ndarray] = []
        for (name, role), stack in arrays.items():
            found = self.layout.find(name, role)[rows]
            if len(found) == 0:
                continue
            if found.min() < 0:
                raise BundleError(f"case row {rows[found.argmin()]} has no {role} {name} in the layout")
            dtype = _WORDS[int(self.layout.dtype[found[0]])]
            flat = _bytes(stack, dtype, name, len(rows))
            item = numpy_dtype(dtype).itemsize
            if (self.layout.elements[found] * item != flat.shape[1]).any() or (
                self.layout.dtype[found] != DTYPES[dtype]
            ).any():
                raise BundleError(f"{role} {name}: {flat.shape[1] // item} elements of {dtype} are not as planned")
            flats.append(flat)
            written.append(found)
            if flat.size:
                at = self.offsets[f"data/{dtype}"] + self.layout.position[found] * item
                groups.setdefault(dtype, []).append((at, flat))
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

    def _put_all(self, groups: dict[str, list[tuple[np.ndarray, np.ndarray]]]) -> None:
        for pieces in groups.values():
            self._put(pieces)

    def _put(self, pieces: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Write the pieces of one blob: in one go where nothing but padding lies between them."""
        fd = self._open()
        pieces = sorted(pieces, key=lambda piece: int(piece[0][0]))
        starts = np.stack([at for at, _ in pieces], axis=1)
        ends = starts + [flat.shape[1] for _, flat in pieces]
        gaps = starts[:, 1:] - ends[:, :-1]
        if max(flat.shape[1] for _, flat in pieces) >= _LARGE or ((gaps < 0) | (gaps >= ALIGNMENT)).any():
            for offsets, flat in pieces:
                for offset, one in zip(offsets.tolist(), flat, strict=True):
                    write_at(fd, one, offset)
            return
        stride = -(-int(ends[0, -1] - starts[0, 0]) // ALIGNMENT) * ALIGNMENT
        same = (starts[1:, 0] - starts[:-1, 0] == stride) & (np.diff(starts - starts[:, :1], axis=0) == 0).all(axis=1)
        most = max(1, _PIECE // stride)
        for run in np.split(np.arange(len(starts)), np.flatnonzero(~same) + 1):
            for at in range(0, len(run), most):
                part = run[at : at + most]
                buffer = np.zeros((len(part), stride), dtype=np.uint8)
                for (_, flat), start in zip(pieces, (starts[part[0]] - starts[part[0], 0]).tolist(), strict=True):
                    buffer[:, start : start + flat.shape[1]] = flat[part[0] : part[-1] + 1]
                write_at(fd, buffer, int(starts[part[0], 0]))

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


def _digests(flats: list[np.ndarray]) -> bytes:
    return b"".join([sha256(one).digest()[:DIGEST] for flat in flats for one in flat])


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
