"""What the contents of a file are known by: the table ``/digests``, and the root digest over it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256

import h5py
import numpy as np

from opgen.bundle.format import heading, schema
from opgen.bundle.format.digest import digest_of
from opgen.bundle.format.dtypes import text
from opgen.bundle.format.heading import Header


def digests_dtype(names: Iterable[str]) -> np.dtype:
    """The type of ``/digests``: the name of a table and its XXH3."""
    width = max(len(name.encode()) for name in (*names, "strings"))
    own = {"table": text(width), "xxh3": h5py.string_dtype("ascii", 32)}
    return schema.dtype(schema.BUNDLE["digests"], **own)


def digest_table(
    attributes: Header, tables: Mapping[str, np.ndarray], strings: list[str]
) -> np.ndarray:
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
