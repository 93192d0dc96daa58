"""Bytes of open files: read and written in full, copied, and passed by a piece at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from opgen.bundle.format.digest import Bytes, Digest
from opgen.bundle.format.dtypes import BundleError

_LARGEST_READ = 1 << 30


_AT_ONCE = 1 << 20
"""Bytes of a file that are in memory together where all of them pass by."""


def write_at(fd: int, data: Bytes, offset: int) -> None:
    """Write all bytes of ``data`` at ``offset``, however many calls it takes."""
    view = memoryview(data).cast("B")
    while len(view):
        done = os.pwrite(fd, view, offset)
        view, offset = view[done:], offset + done


def read_at(path: Path, fd: int, raw: np.ndarray, offset: int) -> None:
    """Read ``raw`` full from byte ``offset`` of an open file, however many calls it takes;
    BundleError where that cannot be.
    """
    try:
        done = os.preadv(fd, [raw.data], offset)
        while done < len(raw):
            more = os.preadv(fd, [raw.data[done : done + _LARGEST_READ]], offset + done)
            if not more:
                raise BundleError(f"{path}: truncated")
            done += more
    except OSError as error:
        raise BundleError(f"{path}: cannot read: {error.strerror or error}") from None


def pieces(path: Path, fd: int, start: int, end: int) -> Iterator[tuple[int, np.ndarray]]:
    """The bytes of an open file between two places, a MiB at a time, each piece with its place;
    BundleError where they cannot be read.
    """
    for place in range(start, end, _AT_ONCE):
        piece = np.empty(min(_AT_ONCE, end - place), dtype=np.uint8)
        read_at(path, fd, piece, place)
        yield place, piece


class StoredBytes(NamedTuple):
    """Bytes in an open file: from which on, how many, and their digest."""

    path: Path
    fd: int
    start: int
    size: int
    digest: bytes

    def read(self) -> np.ndarray:
        """(size,) uint8."""
        raw = np.empty(self.size, dtype=np.uint8)
        read_at(self.path, self.fd, raw, self.start)
        return raw

    def copy(self, fd: int, target: int) -> bool:
        """Write them into another file from byte ``target`` on; whether they match their digest."""
        digest = Digest()
        for place, piece in pieces(self.path, self.fd, self.start, self.start + self.size):
            digest.update(piece.data)
            write_at(fd, piece, target + place - self.start)
        return digest.digest() == self.digest


def outside(ranges: Iterable[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """What of ``size`` bytes lies before, between and after some ranges.

    >>> list(outside([(2, 4), (4, 7)], 9))
    [(0, 2), (4, 4), (7, 9)]
    """
    edges = [0, *chain.from_iterable(ranges), size]
    return zip(edges[::2], edges[1::2], strict=True)
