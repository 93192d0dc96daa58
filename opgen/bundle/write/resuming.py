"""Going on with a file that somebody began to write: what is in it counts only where it matches a
digest.

While a file is written, the digests of finished tensors go into its table of tensors every now and
then. Whoever resumes writes everything but the data anew and keeps the tensors whose bytes match
such a digest. So it does not matter when, nor in the middle of what, the first writer was stopped.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np

from opgen.bundle.format import container
from opgen.bundle.format.container import Skeleton
from opgen.bundle.format.digest import DIGEST_SIZE, digest_of
from opgen.bundle.format.dtypes import DTYPES, BundleError, numpy_dtype
from opgen.bundle.format.layout import Layout
from opgen.bundle.write.output import LockedOutput

EVERY = 1.0
"""Seconds between two notes of what is finished: as much is lost at most."""
_NEAR = 64
"""Rows that lie no further apart are written in one go, with those between them."""
_NOTHING = bytes(DIGEST_SIZE)
_WINDOW = 1 << 20
"""Bytes that are looked at together."""


class Journal:
    """The rows of the table of tensors that have changed since they were last written to the
    file.
    """

    def __init__(self, table: np.ndarray) -> None:
        self._table = table
        self._changed: list[np.ndarray] = []
        self._last = time.monotonic()

    def note(self, rows: np.ndarray) -> None:
        """Rows whose digests are known now."""
        self._changed.append(rows)

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._last >= EVERY

    def write(self, fd: int, offset: int) -> None:
        """Write the changed rows into the table that begins at ``offset``; their data are there
        already.
        """
        rows = (
            np.sort(np.concatenate(self._changed), kind="stable")
            if self._changed
            else np.empty(0, dtype=np.int64)
        )
        for run in np.split(rows, np.flatnonzero(np.diff(rows) > _NEAR) + 1):
            if len(run):
                piece = self._table[run[0] : run[-1] + 1]
                container.write_at(
                    fd, piece.view(np.uint8), offset + int(run[0]) * self._table.itemsize
                )
        self._changed, self._last = [], time.monotonic()


def begun(claim: LockedOutput) -> bool:
    """Whether there is anything to go on from: its first block names the request once the file has
    room for everything.
    """
    return b"\nrequest " in os.pread(claim.fd, container.FIRST_BLOCK, 0)


def adopt(
    claim: LockedOutput, fresh: Skeleton, request: str, tables: dict[str, np.ndarray]
) -> tuple[Skeleton, np.ndarray]:
    """Give an unfinished file everything of a fresh one but the data.

    Returns the skeleton and the digests of tensors that somebody took note of, (tensors,).
    BundleError where the file was to become another one.
    """
    try:
        wanted = container.first_block("bundle", fresh, request)
        if os.pread(claim.fd, len(wanted), 0) != wanted:
            raise BundleError(
                f"{claim.partial}: was begun for another suite (other cases, seed, specs, plans or"
                " opgen); repeat the command that began it, or leave out --resume to begin anew"
            )
        tensors = tables["tensors"].copy()
        if len(tensors):
            known = os.pread(claim.fd, tensors.nbytes, fresh.offsets["tensors"])
            tensors["digest"] = np.frombuffer(
                known.ljust(tensors.nbytes, b"\0"), dtype=tensors.dtype
            )["digest"]
        with open(fresh.path, "r+b", buffering=0) as file:
            for name, table in {**tables, "tensors": tensors}.items():
                container.write_table(file.fileno(), fresh, name, table)
            _copy(file.fileno(), claim.fd, fresh)
        return replace(fresh, path=claim.partial), tensors["digest"]
    finally:
        fresh.path.unlink(missing_ok=True)


def _copy(source: int, target: int, skeleton: Skeleton) -> None:
    """Everything but the data."""
    os.ftruncate(target, skeleton.size)
    at = 0
    for start, end in (*skeleton.ranges, (skeleton.size, skeleton.size)):
        while at < start:
            piece = np.empty(min(1 << 20, start - at), dtype=np.uint8)
            container.read_at(skeleton.path, source, piece, at)
            container.write_at(target, piece, at)
            at += len(piece)
        at = end


def clear(fd: int, skeleton: Skeleton, layout: Layout) -> None:
    """Zero what stands between tensors and behind the last of a blob: no digest of a tensor tells
    what is there.
    """
    ends = dict(skeleton.ranges)
    for name in layout.blobs:
        start, item = skeleton.offsets.get(f"data/{name}", 0), numpy_dtype(name).itemsize
        if start not in ends:
            continue
        mine = layout.dtype == DTYPES[name]
        first = start + layout.position[mine] * item
        order = np.argsort(first, kind="stable")
        begin, end = (
            np.append(first[order], ends[start]),
            np.append(start, (first + layout.elements[mine] * item)[order]),
        )
        for at in range(start, ends[start], _WINDOW):
            window = np.empty(min(_WINDOW, ends[start] - at), dtype=np.uint8)
            container.read_at(skeleton.path, fd, window, at)
            near = slice(*np.searchsorted(end, (at, at + len(window))))
            some = slice(
                max(near.start - 1, 0), near.stop
            )  # the gap that the window begins in, too
            edges = np.zeros(len(window) + 1, dtype=np.int64)
            np.add.at(edges, np.clip(end[some] - at, 0, len(window)), 1)
            np.add.at(edges, np.clip(begin[some] - at, 0, len(window)), -1)
            gaps = np.cumsum(edges[:-1]) > 0
            if window[gaps].any():
                window[gaps] = 0
                container.write_at(fd, window, at)


def intact(fd: int, skeleton: Skeleton, layout: Layout, digests: np.ndarray) -> np.ndarray:
    """(layout rows,) bool: the data in the file match the digest that was noted."""
    items = {
        number: (name, numpy_dtype(name).itemsize)
        for name, number in DTYPES.items()
        if name in layout.blobs
    }
    result = np.zeros(len(layout.case), dtype=bool)
    noted = [row for row, digest in enumerate(digests.tolist()) if digest != _NOTHING]
    columns = (
        layout.dtype[noted].tolist(),
        layout.elements[noted].tolist(),
        layout.position[noted].tolist(),
    )
    for row, dtype, elements, position in zip(noted, *columns, strict=True):
        name, item = items[dtype]
        data = os.pread(
            fd, elements * item, skeleton.offsets.get(f"data/{name}", 0) + position * item
        )
        result[row] = len(data) == elements * item and digest_of(data) == digests[row].tobytes()
    return result
