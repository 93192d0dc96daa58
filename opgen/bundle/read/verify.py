"""Is a file whole? Every byte of it is compared with a digest, and the tables with each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from opgen.bundle.format import container
from opgen.bundle.format.digest import digest_of
from opgen.bundle.format.dtypes import ALIGNMENT, WORDS, BundleError, words_of
from opgen.bundle.format.tensorrow import NO_DATA
from opgen.bundle.read.opening import Blob, OpenedFile, kind_of, open_file
from opgen.bundle.read.soundness import unsoundness


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
    try:
        return [f"{path}: {text}" for text in (*_tables(file), *_tensors(file))]
    except BundleError as error:
        return [str(error)]
    except Exception as error:  # noqa: BLE001  the bytes are intact, so whoever wrote them is to blame
        return [f"{path}: not a {kind} that opgen wrote: {type(error).__name__}: {error}"]
    finally:
        os.close(file.fd)


def _tables(file: OpenedFile) -> Iterator[str]:
    """Tables against ``/digests``, and references against the tables that they point into."""
    stored = dict(file.tables["digests"].tolist())
    tables = {name: table for name, table in file.tables.items() if name.encode() in stored}
    digests = container.digests(file.attributes, tables, file.strings)
    for name, digest in digests.tolist():
        if stored.get(name) != digest:
            yield f"{name.decode()} does not match its digest"
    if {name.encode() for name in file.tables} - {b"digests"} != set(stored) - {b"/", b"strings"}:
        yield "the tables are not those that have digests"
    if text := unsoundness(file.tables, len(file.strings)):
        yield text
    ids = file.rows["id"].tolist()
    if len(set(ids)) != len(ids):
        yield "two cases have the same id"


def _tensors(file: OpenedFile) -> Iterator[str]:
    """Each tensor against its digest, and zeros everywhere else."""
    tensors = file.tables["tensors"]
    for dtype in sorted({*tensors["dtype"].tolist(), *file.blobs}):
        rows = np.flatnonzero((tensors["dtype"] == dtype) & (tensors["position"] != NO_DATA))
        rows = rows[np.lexsort((tensors["elements"][rows], tensors["position"][rows]))]
        blob = file.blobs.get(dtype)
        if blob is not None:
            yield from _blob(file, blob, rows, WORDS.get(dtype, str(dtype)))
        elif len(rows):
            yield f"there are no data of dtype {dtype}"


def _blob(file: OpenedFile, blob: Blob, rows: np.ndarray, word: str) -> Iterator[str]:
    """The same of one dtype; ``rows`` are those of its tensors, in the order of their data."""
    tensors, item = file.tables["tensors"][rows], blob.dtype.itemsize
    starts = tensors["position"].astype(np.int64) * item
    ends = starts + tensors["elements"].astype(np.int64) * item
    if (np.append(starts, blob.elements * item) < np.append(0, ends)).any():
        yield f"tensors of {word} overlap or lie outside their data"
        return
    if (starts % ALIGNMENT).any():
        yield f"tensors of {word} are not aligned to {ALIGNMENT} bytes"
    place = blob.start
    owner = tensors.dtype.names[0]
    facts = (
        tensors[owner],
        tensors["name"],
        tensors["digest"],
        blob.start + starts,
        blob.start + ends,
    )
    columns = (column.tolist() for column in facts)
    for row, name, digest, start, end in zip(*columns, strict=True):
        raw = np.empty(end - place, dtype=np.uint8)
        container.read_at(file.path, file.fd, raw, place)
        gap, data = raw.data[: start - place], raw.data[start - place :]
        if any(gap):
            yield f"bytes before {_where(file, row, name)} are not zero"
        if digest_of(data) != digest:
            yield f"{_where(file, row, name)} does not match its digest"
        place = end
    rest = container.pieces(file.path, file.fd, place, blob.start + blob.elements * item)
    if any(piece.any() for _, piece in rest):
        yield f"bytes after the last tensor of {word} are not zero"


def _where(file: OpenedFile, row: int, name: int) -> str:
    """A tensor by the id of its case and its name."""
    words = words_of(file.tables["tensors"].dtype["name"])
    return f"{file.rows['id'][row].decode()}: {words.get(name, name)}"
