"""What is done so far, after the end of an unfinished file, for whoever resumes.

Whatever is whole in it counts, whenever and wherever its writer was stopped.

An entry is a line, ``<digest of what follows> <JSON>``, and behind it the bytes that the line tells
of. Nothing is written twice, so a file that ends anywhere is good up to its last whole entry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from opgen.bundle.format.digest import digest_of
from opgen.bundle.format.file_bytes import StoredBytes, write_at


class Entry(NamedTuple):
    """One entry: what it says, and the bytes that belong to it."""

    facts: dict[str, Any]
    data: list[StoredBytes]


class Journal:
    """Entries from byte ``start`` of an open file on: those that are whole, and what is added."""

    def __init__(self, path: Path, fd: int, start: int = 0) -> None:
        self.path = path
        self._fd = fd
        self._start = self._end = start
        self.entries = list(self._whole())
        """What was there."""
        os.ftruncate(fd, self._end)

    def _whole(self) -> Iterator[Entry]:
        """Every entry, up to the first that is torn, or is none."""
        with open(self._fd, "rb", closefd=False) as file:
            file.seek(self._start)
            while entry := self._entry(file):
                self._end = file.tell()
                yield entry

    def _entry(self, file: BinaryIO) -> Entry | None:
        """What stands here, if it is an entry."""
        line = file.readline()
        digest, _, text = line.rstrip(b"\n").partition(b" ")
        if digest != digest_of(text).hex().encode() or not line.endswith(b"\n"):
            return None
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError):
            return None
        pieces = facts.pop("bytes", None) if isinstance(facts, dict) else None
        data, size = [], os.fstat(self._fd).st_size
        for piece in pieces if isinstance(pieces, list) else [None]:
            match piece:
                case [int(count), str(known)] if 0 <= count <= size - (start := file.tell()):
                    found = digest_of(file.read(count))
                    data.append(StoredBytes(self.path, self._fd, start, count, found))
                    if found.hex() == known:
                        continue
            return None
        return Entry(facts, data)

    def add(
        self, facts: Mapping[str, object], data: Sequence[memoryview] = ()
    ) -> list[StoredBytes]:
        """Write an entry; returns where its bytes are."""
        digests = list(map(digest_of, data))
        told = [(piece.nbytes, digest.hex()) for piece, digest in zip(data, digests, strict=True)]
        text = json.dumps({**facts, "bytes": told}).encode()
        line = b"%s %s\n" % (digest_of(text).hex().encode(), text)
        write_at(self._fd, line, self._end)
        end, stored = self._end + len(line), []
        for piece, digest in zip(data, digests, strict=True):
            write_at(self._fd, piece, end)
            stored.append(StoredBytes(self.path, self._fd, end, piece.nbytes, digest))
            end += piece.nbytes
        self._end = end
        return stored

    def clear(self) -> None:
        """Forget what is there."""
        os.ftruncate(self._fd, self._start)
        self._end = self._start
