"""Check the integrity of a file: every byte against a digest (the file is whole), and the contents
against the rules of the format (the file is sound).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from opgen.bundle.format import container
from opgen.bundle.format.digest import digest_column
from opgen.bundle.format.dtypes import WORDS, BundleError, room
from opgen.bundle.format.root_digest import digest_table
from opgen.bundle.format.tensorrow import DRAWN, TensorRow
from opgen.bundle.read.contents import BundleTables
from opgen.bundle.read.finished import FinishedFile
from opgen.bundle.read.opening import kind_of
from opgen.bundle.read.windows import in_order, windows


def verify(path: str | Path) -> list[str]:
    """What is wrong with a bundle or results file, one line each; empty if it is exactly what was
    written, and that is sound.

    A line says ``unsound`` where the bytes are those that were written, and mean nothing; others
    tell of damage. Checks the size and the digest of all bytes around the data before HDF5 opens
    the file, then what the tables say, then the digest of every tensor, and that the bytes between
    tensors are zero. Never raises for a damaged file.
    """
    try:
        kind = kind_of(path)
        opened = BundleTables(path) if kind == "bundle" else FinishedFile(path, kind)
        with opened as file:
            lies = [str(file.unsound(text)) for text in _tables(file)]
            return lies or [str(error) for error in _damage(file)]
    except BundleError as error:
        return [str(error)]


def _tables(file: FinishedFile) -> Iterator[str]:
    """Tables against ``/digests``, and tensors that are not where the tables have room for them."""
    stored = dict(file.tables["digests"].tolist())
    tables = {name: table for name, table in file.tables.items() if name != "digests"}
    known = dict(digest_table(file.header, tables, file.strings).tolist())
    yield from (
        f"{name.decode(errors='replace')} does not match its digest"
        for name in sorted(known.keys() | stored.keys())
        if stored.get(name) != known.get(name)
    )
    for number, (kind, _, elements) in file.blobs.items():
        tensors = file.tables["tensors"][in_order(file, number)]
        taken = room(tensors["elements"], kind.itemsize)
        end = np.cumsum(taken)
        pages = -(-int(taken.sum()) * kind.itemsize // container.PAGE)
        if (
            tensors["position"] != end - taken
        ).any() or elements * kind.itemsize != pages * container.PAGE:
            yield f"tensors of {WORDS[number]} do not lie one after the other"


def _damage(file: FinishedFile) -> Iterator[BundleError]:
    """Each tensor against its digest, and zeros everywhere else; drawn ones are drawn for that."""
    tensors = file.tables["tensors"]
    if isinstance(file, BundleTables):
        for row in map(TensorRow._make, tensors[tensors["position"] == DRAWN].tolist()):
            try:
                file.tensor(row)
            except BundleError as error:
                yield error
    for window in windows(file):
        digests = tensors["digest"][window.rows]
        for row in window.rows[digest_column(window.data) != digests].tolist():
            yield file.damage(*tensors[row].item()[:2])
        if window.padding.any():
            yield file.error(
                f"damaged: bytes between tensors of {WORDS[window.dtype]} are not zero"
            )
