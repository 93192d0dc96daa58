"""The file itself: a checked first block, HDF5 tables, and pre-sized blobs of data.

Bundles and results files are both written here. The file is made with room for all data first, and
for all tables behind them once they are known; both are then plain bytes at known offsets, and HDF5
is needed only for the skeleton and for the last flag. Blobs come first, so that they can be written
before the tables are made.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

import h5py
import numpy as np

from opgen.bundle.format import heading, schema
from opgen.bundle.format.digest import Digest, digest_of
from opgen.bundle.format.dtypes import hdf5_type, numpy_dtype, text
from opgen.bundle.format.file_bytes import outside, pieces, write_at
from opgen.bundle.format.heading import Header
from opgen.bundle.format.interrupts import deferred_interrupts

FIRST_BLOCK = 4096
"""Bytes before HDF5's own, holding what is checked before HDF5 sees the file."""
FIELD = (37, 69)
"""Where the digest of the file stands in the first block: 32 hexadecimal digits."""
PAGE = 4096
"""Bytes; datasets of so many and more begin at a multiple, and a blob has a multiple."""

_CANNOT = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
"""What file systems say that cannot keep room."""
UNKNOWN = "0" * 32
"""What stands for the digest of a file that is not whole yet."""
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
    with _hdf5(path, "w", userblock_size=FIRST_BLOCK) as file:
        for name, value in attributes.items():
            file.attrs[name] = heading.stored(value)
        file.attrs.create("complete", 0, dtype="u1")
        file.attrs.create("digest", UNKNOWN.encode(), dtype=h5py.string_dtype("ascii", 64))
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
        raw.write(first_block(kind, whole, request))
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


def digests_dtype(names: Iterable[str]) -> np.dtype:
    """The type of ``/digests``: the name of a table and its XXH3."""
    width = max(len(name.encode()) for name in (*names, "strings"))
    own = {"table": text(width), "xxh3": h5py.string_dtype("ascii", 32)}
    return schema.dtype(schema.BUNDLE["digests"], **own)


def digests(attributes: Header, tables: Mapping[str, np.ndarray], strings: list[str]) -> np.ndarray:
    """``/digests``: of the root's attributes (named ``/``), of the texts, and of each table's
    bytes.
    """
    contents = {
        "/": digest_of(heading.canonical(attributes)),
        "strings": digest_of(b"".join(text.encode() + b"\0" for text in strings)),
    }
    for name, table in tables.items():
        contents[name] = digest_of(np.ascontiguousarray(table).view(np.uint8).data)
    return np.array(
        [(name.encode(), digest.hex().encode()) for name, digest in contents.items()],
        dtype=digests_dtype(tables),
    )


def root_digest(table: np.ndarray) -> str:
    """The SHA-256 of ``/digests``, as lines of name, space, digits: what the contents of a file are
    known by.
    """
    return sha256(
        b"".join(name + b" " + digest + b"\n" for name, digest in table.tolist())
    ).hexdigest()


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
        raw.write(first_block(kind, skeleton))
        raw.seek(FIELD[0])
        raw.write(file_digest(skeleton.path, raw.fileno(), skeleton.ranges, skeleton.size).encode())
    return digest


def file_digest(path: Path, fd: int, ranges: Iterable[tuple[int, int]], size: int) -> str:
    """XXH3 of every byte of an open file but its own field and the blobs, whose tensors have
    digests in the tables.
    """
    digest = Digest()
    for start, end in outside((FIELD, *ranges), size):
        for _, piece in pieces(path, fd, start, end):
            digest.update(piece.data)
    return digest.hexdigest()


def first_block(kind: str, skeleton: Skeleton, request: str = "") -> bytes:
    """What stands before HDF5's own bytes while the digest of the file is not known."""
    lines = [
        f"opgen {kind} {heading.FORMAT_VERSION}".ljust(31),
        f"xxh3 {UNKNOWN}",
        f"bytes {skeleton.size}",
    ]
    lines += [f"data {start} {end}" for start, end in skeleton.ranges]
    lines += [f"request {request}"] if request else []
    return "\n".join([*lines, ""]).encode().ljust(FIRST_BLOCK, b"\0")


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
