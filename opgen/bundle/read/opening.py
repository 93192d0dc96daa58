"""Opening a file: nothing reaches HDF5 before its bytes are known to be those that were written."""

from __future__ import annotations

import errno
import logging
import os
import re
from math import prod
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from opgen.bundle.format import file_bytes, first_block, heading
from opgen.bundle.format.dtypes import DTYPES, BundleError, hdf5_type, numpy_dtype
from opgen.bundle.format.heading import Header
from opgen.bundle.format.interrupts import deferred_interrupts
from opgen.bundle.read import heap
from opgen.model import size

_log = logging.getLogger(__name__)
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
_INTERRUPTED = "not complete: writing it was interrupted; write it again"


class Blob(NamedTuple):
    """The data of a dtype: its numpy type, from which byte on, how many elements."""

    dtype: np.dtype
    start: int
    elements: int


def kind_of(path: str | Path) -> str:
    """``results`` for a file that begins like one, else ``bundle``; BundleError where it cannot be
    read.
    """
    try:
        with open(path, "rb") as raw:
            return "results" if raw.read(14) == b"opgen results " else "bundle"
    except OSError as error:
        raise BundleError(f"{path}: cannot read: {error.strerror}") from None


class Unsound(BundleError):
    """The bytes of a file are those that were written, and do not say what a file says."""


class OpenedFile:
    """A whole file, whatever it says: its header, its tables in memory, where its data lie.

    Every byte but the data is checked here, against the digest in the first block. Raises
    BundleError, one line, for anything that is not a whole file of ``kind`` (``bundle`` or
    ``results``). ``blobs`` has the data by the number of each dtype. Reads are positioned and share
    no state: threads and forked processes may use one.
    """

    fd = -1

    def __init__(self, path: str | Path, kind: str) -> None:
        self.path, self.kind = Path(path), kind
        self.tables: dict[str, np.ndarray] = {}
        self.strings: list[str] = []
        self.blobs: dict[int, Blob] = {}
        try:
            self._ranges = self._first_block()
            self._read()
        except BaseException:
            self.close()
            raise
        _log.info("%s: read, %s", path, size(self._size))

    def error(self, text: str) -> BundleError:
        """What is said of this file."""
        return BundleError(f"{self.path}: {text}")

    def unsound(self, text: str) -> Unsound:
        """What is said of a file whose bytes are those that were written, and mean nothing."""
        return Unsound(f"{self.path}: unsound: {text}")

    def close(self) -> None:
        """Let go of the file; arrays already read stay valid."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def bytes(self, start: int, size: int) -> np.ndarray:
        """(size,) uint8 from byte ``start`` of the file on."""
        if self.fd < 0:
            raise self.error("is closed; read what you need before the file is")
        raw = np.empty(size, dtype=np.uint8)
        file_bytes.read_at(self.path, self.fd, raw, start)
        return raw

    def _first_block(self) -> tuple[tuple[int, int], ...]:
        """Where the blobs lie, once every other byte has matched the digest."""
        try:
            self.fd = os.open(self.path, os.O_RDONLY)
            block = os.pread(self.fd, first_block.SIZE, 0)
            size = self._size = os.fstat(self.fd).st_size
        except OSError as error:
            raise self.error(f"cannot read: {error.strerror}") from None
        first = _FIRST.match(block)
        facts = first and _SECOND.match(block, first.end())
        kind = first["kind"].decode() if first is not None else self.kind
        if kind != self.kind:
            raise self.error(
                f"is an opgen {kind} file, not a {self.kind} file; {_WRITES[self.kind]}"
            )
        if first is not None and int(first["version"]) != heading.FORMAT_VERSION:
            newer = int(first["version"]) > heading.FORMAT_VERSION
            advice = (
                "is newer than this opgen: update opgen"
                if newer
                else "was never released, and opgen does not read it: write it again"
            )
            raise self.error(f"format {int(first['version'])} {advice}")
        if facts is None or len(block) < first_block.SIZE:
            raise self.error(
                f"not an opgen {self.kind} file, or its beginning is damaged; {_WRITES[self.kind]}"
            )
        if facts["digest"].decode() == first_block.UNKNOWN:
            raise self.error(_INTERRUPTED)
        if int(facts["size"]) != size:
            raise self.error(
                f"has {size} bytes and was written with {int(facts['size'])}: truncated or damaged"
            )
        numbers = [int(n) for n in re.findall(rb"\d+", facts["ranges"])]
        if [first_block.SIZE, *numbers, size] != sorted([first_block.SIZE, *numbers, size]):
            raise self.error("damaged: its first block contradicts itself")
        ranges = tuple(zip(numbers[::2], numbers[1::2], strict=True))
        if first_block.file_digest(self.path, self.fd, ranges, size) != facts["digest"].decode():
            raise self.error("damaged: its bytes do not match their digest")
        return ranges

    def _read(self) -> None:
        """Take in what HDF5 makes of the bytes, through the descriptor by which they were checked:
        no other use of the file is in the way. HDF5 drops what Ctrl-C raises.
        """
        try:
            with (
                deferred_interrupts(),
                open(self.fd, "rb", closefd=False) as raw,
                h5py.File(raw) as file,
            ):
                self._contents(file)
        except Unsound:
            raise
        except BundleError as error:
            raise self.unsound(str(error)) from None
        except MemoryError:
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
                raise OSError(error.errno, os.strerror(error.errno), str(self.path)) from None
            raise self.unsound(f"{type(error).__name__}: {error}") from error

    def _contents(self, file: h5py.File) -> None:
        self.header: Header = {}
        for name in file.attrs:
            attribute = file.attrs.get_id(name)
            size = prod(attribute.shape or ()) * attribute.dtype.itemsize
            if attribute.dtype.hasobject or size > self._size:
                raise self.unsound(f"the attribute {name} does not say how long it is")
            self.header[name] = heading.restored(name, file.attrs[name])
        if missing := [name for name in heading.REQUIRED[self.kind] if name not in self.header]:
            raise self.unsound(f"the attribute {missing[0]} is missing")
        self.digest: str = self.header.pop("digest")
        if self.header.pop("complete") != 1:
            raise self.unsound("it is not complete")
        names: list[str] = []
        file.visit(names.append)
        for name in names:
            item = file[name]
            if isinstance(item, h5py.Dataset):
                folder, _, word = name.rpartition("/")
                if folder == "data":
                    self.blobs[DTYPES.get(word, -1)] = self._blob(word, item)
                elif name == "strings":
                    self.strings = self._texts(item)
                else:
                    self.tables[name] = self._rows(item, item.dtype)
        self.blobs = dict(sorted(self.blobs.items()))

    def _blob(self, word: str, item: h5py.Dataset) -> Blob:
        blob = Blob(numpy_dtype(word), item.id.get_offset() or 0, item.size)
        span = blob.start, blob.start + blob.elements * blob.dtype.itemsize
        if (blob.elements and span not in self._ranges) or item.id.get_type() != hdf5_type(word):
            raise self.unsound(f"{item.name[1:]} lies outside the data")
        return blob

    def _rows(self, item: h5py.Dataset, dtype: np.dtype) -> np.ndarray:
        """The rows of a dataset as they lie in the file, which must hold them: a few bytes of HDF5
        may stand for more than memory does.
        """
        start = item.id.get_offset() if item.size else 0
        size = (item.size or 0) * dtype.itemsize
        held = start is not None and item.id.get_storage_size() == size <= self._size
        if item.shape != (item.size,) or not held:
            raise self.unsound(f"it does not hold the {item.size} rows of {item.name[1:]}")
        return self.bytes(start, size).view(dtype)

    def _texts(self, item: h5py.Dataset) -> list[str]:
        """Texts, none of which HDF5 reads."""
        if h5py.check_string_dtype(item.dtype) != ("utf-8", None):
            raise self.unsound(f"{item.name[1:]} are no texts")
        try:
            return heap.texts(self._rows(item, heap.REFERENCE), self.bytes, self._size)
        except (ValueError, OverflowError) as error:
            raise self.unsound(f"it does not hold the texts of {item.name[1:]}: {error}") from None
