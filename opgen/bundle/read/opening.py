"""Opening a file: nothing reaches HDF5 before its bytes are known to be those that were written."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from opgen.bundle.format import container, heading
from opgen.bundle.format.dtypes import DTYPES, BundleError, numpy_dtype
from opgen.bundle.format.heading import Header
from opgen.bundle.format.interrupts import deferred_interrupts

_FIRST = re.compile(rb"opgen (?P<kind>\w+) (?P<version>\d+) *\n")
_SECOND = re.compile(
    rb"xxh3 (?P<digest>[0-9a-f]{32})\nbytes (?P<size>\d+)\n"
    rb"(?P<ranges>(?:data \d+ \d+\n)*)(?:request [0-9a-f]{64}\n)?\0*\Z"
)
_WRITES = {
    "bundle": "opgen generate writes one",
    "results": "opgen run writes one, and so does opgen.Results",
}
"""How files of each kind are made."""


class Blob(NamedTuple):
    """The data of a dtype: its numpy type, from which byte on, how many elements."""

    dtype: np.dtype
    start: int
    elements: int


@dataclass(frozen=True)
class OpenedFile:
    """A checked file: its tables in memory, and a descriptor for its data, of which there is a blob
    by the number of each dtype.
    """

    path: Path
    fd: int
    attributes: Header
    tables: dict[str, np.ndarray]
    strings: list[str]
    blobs: dict[int, Blob]
    digest: str

    @property
    def rows(self) -> np.ndarray:
        """The table that has a row per case."""
        return self.tables["cases" if "cases" in self.tables else "results"]


def kind_of(path: str | Path) -> str:
    """``results`` for a file that begins like one, else ``bundle``; BundleError where it cannot be
    read.
    """
    try:
        with open(path, "rb") as raw:
            return "results" if raw.read(14) == b"opgen results " else "bundle"
    except OSError as error:
        raise BundleError(f"{path}: cannot read: {error.strerror}") from None


def open_file(path: str | Path, kind: str) -> OpenedFile:
    """Check and open a file of ``kind`` (``bundle`` or ``results``).

    Every byte but the data is checked here, against the digest in the first block; each tensor is
    checked when it is read. Raises BundleError, one line, for anything that is not a whole file of
    this kind.
    """
    path = Path(path)
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise BundleError(f"{path}: cannot read: {error.strerror}") from None
    try:
        ranges = _check_first_block(path, fd, kind)
        return _read(path, fd, ranges)
    except BundleError:
        os.close(fd)
        raise
    except Exception as error:
        os.close(fd)
        raise BundleError(
            f"{path}: not a {kind} that opgen wrote: {type(error).__name__}: {error}"
        ) from error


def _check_first_block(path: Path, fd: int, kind: str) -> tuple[tuple[int, int], ...]:
    try:
        block = os.pread(fd, container.FIRST_BLOCK, 0)
        size = os.fstat(fd).st_size
    except OSError as error:
        raise BundleError(f"{path}: cannot read: {error.strerror}") from None
    first = _FIRST.match(block)
    facts = first and _SECOND.match(block, first.end())
    if first is not None and first["kind"].decode() != kind:
        raise BundleError(
            f"{path}: is an opgen {first['kind'].decode()} file, not a {kind} file; {_WRITES[kind]}"
        )
    if first is not None and int(first["version"]) != heading.FORMAT_VERSION:
        newer = int(first["version"]) > heading.FORMAT_VERSION
        advice = (
            "is newer than this opgen: update opgen"
            if newer
            else "was never released, and opgen does not read it: write it again"
        )
        raise BundleError(f"{path}: format {int(first['version'])} {advice}")
    if facts is None or len(block) < container.FIRST_BLOCK:
        raise BundleError(
            f"{path}: not an opgen {kind} file, or its beginning is damaged; {_WRITES[kind]}"
        )
    if facts["digest"].decode() == container.UNKNOWN:
        raise BundleError(f"{path}: not complete: writing it was interrupted; write it again")
    if int(facts["size"]) != size:
        raise BundleError(
            f"{path}: has {size} bytes and was written with {int(facts['size'])}: truncated or"
            " damaged"
        )
    numbers = [int(n) for n in re.findall(rb"\d+", facts["ranges"])]
    if [container.FIRST_BLOCK, *numbers, size] != sorted([container.FIRST_BLOCK, *numbers, size]):
        raise BundleError(f"{path}: damaged: its first block contradicts itself")
    ranges = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    if container.file_digest(path, fd, ranges, size) != facts["digest"].decode():
        raise BundleError(f"{path}: damaged: its bytes do not match their digest")
    return ranges


def _read(path: Path, fd: int, ranges: tuple[tuple[int, int], ...]) -> OpenedFile:
    with deferred_interrupts(), h5py.File(path, "r", locking=False) as file:
        attributes = {name: heading.restored(value) for name, value in file.attrs.items()}
        if attributes.pop("complete") != 1:
            raise BundleError(f"{path}: not complete: writing it was interrupted; write it again")
        digest = attributes.pop("digest")
        tables: dict[str, np.ndarray] = {}
        blobs: dict[int, Blob] = {}
        names: list[str] = []
        file.visit(names.append)
        for name in names:
            item = file[name]
            if not isinstance(item, h5py.Dataset):
                continue
            if name.startswith("data/"):
                word = name.removeprefix("data/")
                blob = Blob(numpy_dtype(word), item.id.get_offset() or 0, item.size)
                blobs[DTYPES[word]] = blob
                span = blob.start, blob.start + blob.elements * blob.dtype.itemsize
                if blob.elements and span not in ranges:
                    raise BundleError(f"{path}: damaged: {name} lies outside the data")
            elif (
                item.chunks is not None or item.nbytes > os.fstat(fd).st_size
            ):  # a few bytes may stand for more than memory holds
                raise BundleError(
                    f"{path}: damaged: it does not hold the {item.size} rows of {name}"
                )
            elif name != "strings":
                tables[name] = _table(fd, item)
        strings = [text.decode() for text in file["strings"][()].tolist()]
    if container.root_digest(tables["digests"]) != digest:
        raise BundleError(f"{path}: damaged: the root digest does not match")
    blobs = dict(sorted(blobs.items()))
    return OpenedFile(path, fd, attributes, tables, strings, blobs, digest)


def _table(fd: int, item: h5py.Dataset) -> np.ndarray:
    table = np.empty(item.size, dtype=item.dtype)
    if item.size:
        container.read_at(Path(item.file.filename), fd, table.view(np.uint8), item.id.get_offset())
    return table
