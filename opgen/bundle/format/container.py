"""The file itself: a checked first block, HDF5 tables, and pre-sized blobs of data.

Bundles and results files are both written here. The file is made with room for all data first, and
for all tables behind them once they are known; both are then plain bytes at known offsets, and HDF5
is needed only for the skeleton and for the last flag. Blobs come first, so that they can be written
before the tables are made.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import h5py
import numpy as np

from opgen.bundle.format import first_block, heading
from opgen.bundle.format.dtypes import hdf5_type, numpy_dtype
from opgen.bundle.format.file_bytes import write_at
from opgen.bundle.format.heading import Header
from opgen.bundle.format.interrupts import deferred_interrupts
from opgen.bundle.format.root_digest import digests_dtype, root_digest

PAGE = 4096
"""Bytes; datasets of so many and more begin at a multiple, and a blob has a multiple."""

_CANNOT = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
"""What file systems say that cannot keep room."""
_TEXT, _HEADERS = 48, 1 << 16
"""Bytes that HDF5 needs beside each text, and for everything else of its own, at most."""


@dataclass(frozen=True)
class Skeleton:
    """A file without contents: byte offset of each blob and, once they are described, of each
    table; the blobs' ranges; its size.
    """

    path: Path
    offsets: dict[str, int]
    ranges: tuple[tuple[int, int], ...]
    size: int


def create(
    path: Path,
    kind: str,
    attributes: Header,
    tables: Mapping[str, np.ndarray],
    strings: list[str],
    blobs: Mapping[str, int],
) -> Skeleton:
    """Write the skeleton of a file of ``kind`` (``bundle`` or ``results``) with its texts, nothing
    else.

    ``tables`` gives types and sizes, ``blobs`` the elements per dtype. Every dataset is contiguous
    and allocated at once, so all offsets are known and nothing moves later.
    """
    return describe(begin(path, kind, attributes, blobs), kind, tables, strings)


def begin(
    path: Path,
    kind: str,
    attributes: Header,
    blobs: Mapping[str, int],
    keep: bool = True,
) -> Skeleton:
    """Make a file of a header and pre-sized blobs, which can be written from now on;
    :func:`describe` adds what tells of them.

    OSError where there is no room for the blobs, which is theirs from now on, unless ``keep`` is
    False and others may take it.
    """
    offsets: dict[str, int] = {}
    ranges: list[tuple[int, int]] = []
    _find_room(
        path,
        0,
        _HEADERS,
        sum(elements * numpy_dtype(name).itemsize for name, elements in blobs.items()),
    )
    with _hdf5(path, "w", userblock_size=first_block.SIZE) as file:
        for name, value in attributes.items():
            file.attrs[name] = heading.stored(value)
        file.attrs.create("complete", 0, dtype="u1")
        file.attrs.create(
            "digest", first_block.UNKNOWN.encode(), dtype=h5py.string_dtype("ascii", 64)
        )
        for name, elements in blobs.items():
            item = numpy_dtype(name).itemsize
            size = -(-elements * item // PAGE) * PAGE
            made = _dataset(file, f"data/{name}", hdf5_type(name), size // item)
            h5py.Dataset(made).attrs["opgen_dtype"] = name
            if size:
                offsets[f"data/{name}"] = made.get_offset()
                ranges.append((offsets[f"data/{name}"], offsets[f"data/{name}"] + size))
    if keep and ranges:
        with open(path, "r+b", buffering=0) as raw:
            _keep_room(raw.fileno(), ranges[0][0], ranges[-1][1])
    return _headed(Skeleton(path, offsets, tuple(ranges), 0), kind)


def describe(
    skeleton: Skeleton,
    kind: str,
    tables: Mapping[str, np.ndarray],
    strings: list[str],
    request: str = "",
) -> Skeleton:
    """Add texts, places for tables, and the first block, to a file that was begun.

    ``request`` says in the first block, until the file is sealed, what it is to become.
    """
    offsets = dict(skeleton.offsets)
    shapes = {**tables, "digests": np.empty(len(tables) + 2, dtype=digests_dtype(tables))}
    _find_room(
        skeleton.path,
        skeleton.size,
        sum(len(text.encode()) + _TEXT for text in strings) + _HEADERS,
        sum(table.nbytes for table in shapes.values()),
        keep=True,
    )
    with _hdf5(skeleton.path, "r+") as file:
        file.create_dataset(
            "strings", data=np.array(strings, dtype=object), dtype=h5py.string_dtype()
        )
        for name, table in shapes.items():
            made = _dataset(file, name, h5py.h5t.py_create(table.dtype, logical=True), len(table))
            if len(table):
                offsets[name] = made.get_offset()
    return _headed(replace(skeleton, offsets=offsets), kind, request)


def _headed(skeleton: Skeleton, kind: str, request: str = "") -> Skeleton:
    """With the size that the file has now, which its first block tells from here on."""
    whole = replace(skeleton, size=skeleton.path.stat().st_size)
    with open(skeleton.path, "r+b") as raw:
        raw.write(first_block.unsealed(kind, whole.ranges, whole.size, request))
    return whole


@contextmanager
def _hdf5(path: Path, mode: str, **more: int) -> Iterator[h5py.File]:
    with (
        deferred_interrupts(),
        h5py.File(
            path,
            mode,
            libver=("v110", "v110"),
            locking=False,
            alignment_threshold=PAGE,
            alignment_interval=PAGE,
            **more,
        ) as file,
    ):
        yield file


def _find_room(path: Path, start: int, own: int, size: int, keep: bool = False) -> None:
    """OSError where a file has no room behind ``start`` for so many bytes of HDF5's own, and about
    ``size`` more.

    HDF5 writes its own late, and where it cannot, the whole program ends there. ``keep`` the room
    for it, where the system can: others write meanwhile. HDF5 cuts off what it does not use.
    """
    with open(path, "r+b" if path.exists() else "w+b", buffering=0) as raw:
        raw.truncate(start)
        if keep and _keep_room(raw.fileno(), start, start + own + size):
            return
        raw.truncate(start + own + size)
        write_at(raw.fileno(), bytes(own), start)
        raw.truncate(start)


def _keep_room(fd: int, start: int, end: int) -> bool:
    """Take the room of a file between two places, which is also written faster then; False where
    the system cannot.
    """
    if not hasattr(os, "posix_fallocate"):
        return False
    try:
        os.posix_fallocate(fd, start, end - start)
    except OSError as error:
        if error.errno in _CANNOT:
            return False
        raise
    return True


def write_table(fd: int, skeleton: Skeleton, name: str, table: np.ndarray) -> None:
    """Write one table over its place in the skeleton."""
    if len(table):
        write_at(fd, np.ascontiguousarray(table).view(np.uint8), skeleton.offsets[name])


def seal(skeleton: Skeleton, kind: str, table: np.ndarray) -> str:
    """Declare the file complete: ``/digests``, the root digest, ``complete``, and last the first
    block.
    """
    digest = root_digest(table)
    with open(skeleton.path, "r+b", buffering=0) as raw:
        write_table(raw.fileno(), skeleton, "digests", table)
    with _hdf5(skeleton.path, "r+") as file:
        file.attrs.modify("digest", np.bytes_(digest.encode()))
        file.attrs.modify("complete", np.uint8(1))
    with open(skeleton.path, "r+b") as raw:
        raw.write(first_block.unsealed(kind, skeleton.ranges, skeleton.size))
        raw.seek(first_block.FIELD[0])
        raw.write(
            first_block.file_digest(
                skeleton.path, raw.fileno(), skeleton.ranges, skeleton.size
            ).encode()
        )
    return digest


def _dataset(file: h5py.File, name: str, kind: h5py.h5t.TypeID, size: int) -> h5py.h5d.DatasetID:
    return h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple((size,)), *_plain())


@cache
def _plain() -> tuple[h5py.h5p.PropDCID, h5py.h5p.PropLCID]:
    """How datasets are made: contiguous, allocated and not filled; and linked, in groups that come
    with them.
    """
    options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    options.set_layout(h5py.h5d.CONTIGUOUS)
    options.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    options.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    options.set_obj_track_times(False)
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    return options, links
