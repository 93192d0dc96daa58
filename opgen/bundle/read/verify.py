"""Is a file whole? Every byte of it is compared with a digest, and the tables with each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from opgen.bundle.format import container
from opgen.bundle.format.digest import Digest
from opgen.bundle.format.dtypes import ALIGNMENT, WORDS, BundleError, words_of
from opgen.bundle.format.tensorrow import NO_DATA
from opgen.bundle.read.data import Data
from opgen.bundle.read.opening import Opened, kind_of, open_file
from opgen.bundle.read.soundness import unsoundness

_WINDOW = 4 << 20
"""Bytes of a blob that are in memory at a time."""


def verify(path: str | Path) -> list[str]:
    """What is wrong with a bundle or results file, one line each; empty if it is exactly what was
    written.

    Checks the size and the digest of all bytes around the data before HDF5 opens the file, then the
    digest of every table and tensor, and that the bytes between tensors are zero. Never raises for
    a damaged file.
    """
    try:
        kind = kind_of(path)
        file = open_file(path, kind)
    except BundleError as error:
        return [str(error)]
    data = Data(file)
    try:
        return [f"{path}: {text}" for text in (*_tables(file), *_tensors(file, data))]
    except BundleError as error:
        return [str(error)]
    except Exception as error:  # noqa: BLE001  the bytes are intact, so whoever wrote them is to blame
        return [f"{path}: not a {kind} that opgen wrote: {type(error).__name__}: {error}"]
    finally:
        data.close()


def _tables(file: Opened) -> Iterator[str]:
    """Tables against ``/digests``, and references against the tables that they point into."""
    stored = {n.decode(): d.decode() for n, d in file.tables["digests"].tolist()}
    tables = {name: file.tables[name] for name in stored if name in file.tables}
    found = container.digests(file.attributes, tables, file.strings)
    for name, digest in ((n.decode(), d.decode()) for n, d in found.tolist()):
        if stored.get(name) != digest:
            yield f"{name} does not match its digest"
    if set(file.tables) - {"digests"} != set(stored) - {"/", "strings"}:
        yield "the tables are not those that have digests"
    if text := unsoundness(file.tables, len(file.strings)):
        yield text
    ids = file.tables["cases" if "cases" in file.tables else "results"]["id"].tolist()
    if len(set(ids)) != len(ids):
        yield "two cases have the same id"


def _tensors(file: Opened, data: Data) -> Iterator[str]:
    """Each tensor against its digest, and zeros everywhere else."""
    tensors = file.tables["tensors"]
    ids = file.tables["cases" if "cases" in file.tables else "results"]["id"]
    owner = "case" if "case" in (tensors.dtype.names or ()) else "result"
    for dtype in sorted(set(tensors["dtype"].tolist()) | set(data.types)):
        rows = np.flatnonzero((tensors["dtype"] == dtype) & (tensors["position"] != NO_DATA))
        rows = rows[np.lexsort((tensors["elements"][rows], tensors["position"][rows]))]
        if dtype not in data.types:
            if len(rows):
                yield f"there are no data of dtype {dtype}"
            continue
        kind, start, limit = data.types[dtype]
        positions = tensors["position"][rows].astype(np.int64) * kind.itemsize
        ends = positions + tensors["elements"][rows].astype(np.int64) * kind.itemsize
        if len(rows) and (
            (positions[1:] < ends[:-1]).any()
            or positions[0] < 0
            or ends[-1] > limit * kind.itemsize
        ):
            yield f"tensors of {_name(dtype)} overlap or lie outside their data"
            continue
        if (positions % ALIGNMENT).any():
            yield f"tensors of {_name(dtype)} are not aligned to {ALIGNMENT} bytes"
        spans = zip(
            rows.tolist(),
            positions.tolist(),
            ends.tolist(),
            tensors["digest"][rows].tolist(),
            strict=True,
        )
        reader = _Sequential(data, start, limit * kind.itemsize)
        for row, position, end, digest in spans:
            if not reader.zero(position):
                yield f"bytes before {_where(ids, tensors, owner, row)} are not zero"
            if reader.digest(end) != digest:
                yield f"{_where(ids, tensors, owner, row)} does not match its digest"
        if not reader.zero(limit * kind.itemsize):
            yield f"bytes after the last tensor of {_name(dtype)} are not zero"


class _Sequential:
    """One blob, read once from front to back."""

    def __init__(self, data: Data, start: int, size: int) -> None:
        self._data = data
        self._start = start
        self._size = size
        self._at = 0
        self._window = memoryview(b"")
        self._first = 0

    def _pieces(self, end: int) -> Iterator[memoryview]:
        while self._at < end:
            if self._at >= self._first + len(self._window):
                raw = np.empty(min(_WINDOW, self._size - self._at), dtype=np.uint8)
                self._data.fill(raw, self._start + self._at)
                self._window, self._first = raw.data, self._at
            piece = self._window[self._at - self._first : end - self._first]
            self._at += len(piece)
            yield piece

    def zero(self, end: int) -> bool:
        """Are all bytes up to ``end`` zero?"""
        return all(not any(piece) for piece in self._pieces(end))

    def digest(self, end: int) -> bytes:
        """The digest of all bytes up to ``end``."""
        found = Digest()
        for piece in self._pieces(end):
            found.update(piece)
        return found.digest()


def _where(ids: np.ndarray, tensors: np.ndarray, owner: str, row: int) -> str:
    words = words_of(tensors.dtype["name"])
    number = int(tensors["name"][row])
    return f"{ids[tensors[owner][row]].decode()}: {words.get(number, number)}"


def _name(dtype: int) -> str:
    """The word of a dtype; its number where it is none."""
    return WORDS.get(dtype, str(dtype))
