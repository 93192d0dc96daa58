"""The first block of a file, which is checked before HDF5 sees the rest: kind, version, digest and
size of the file, and where its blobs lie.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from opgen.bundle.format import heading
from opgen.bundle.format.digest import Digest
from opgen.bundle.format.file_bytes import outside, pieces

SIZE = 4096
"""Bytes before HDF5's own, holding what is checked before HDF5 sees the file."""
FIELD = (37, 69)
"""Where the digest of the file stands in the first block: 32 hexadecimal digits."""
UNKNOWN = "0" * 32
"""What stands for the digest of a file that is not whole yet."""


def unsealed(kind: str, ranges: Iterable[tuple[int, int]], size: int, request: str = "") -> bytes:
    """The block while the digest of the file is not known. ``request`` says what it is to
    become.
    """
    lines = [
        f"opgen {kind} {heading.FORMAT_VERSION}".ljust(31),
        f"xxh3 {UNKNOWN}",
        f"bytes {size}",
    ]
    lines += [f"data {start} {end}" for start, end in ranges]
    lines += [f"request {request}"] if request else []
    return "\n".join([*lines, ""]).encode().ljust(SIZE, b"\0")


def file_digest(path: Path, fd: int, ranges: Iterable[tuple[int, int]], size: int) -> str:
    """XXH3 of every byte of an open file but its own field and the blobs, whose tensors have
    digests in the tables.
    """
    digest = Digest()
    for start, end in outside((FIELD, *ranges), size):
        for _, piece in pieces(path, fd, start, end):
            digest.update(piece.data)
    return digest.hexdigest()
