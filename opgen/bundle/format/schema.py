"""The tables of a bundle and of results, each column declared once: the writer makes tables of
these types, and every reader holds a file against them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from math import inf
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen.bundle.format import dtypes
from opgen.bundle.format.digest import DIGEST_TYPE
from opgen.bundle.format.dtypes import enum, words_of
from opgen.bundle.format.tensorrow import DRAWN, NO_DATA
from opgen.model import STATUS_WORDS
from opgen.numerics import formats


class Column(NamedTuple):
    """What may stand in a column.

    ``kind`` is its numpy type, or a pattern of those from which a file chooses. ``words`` are those
    of an enumeration; none where a file brings its own, which are identifiers, numbered from 0.
    ``of`` is the table whose rows the cells name, or ``strings``, of which they name any, unless
    ``texts`` says which. Other cells are at least ``least`` and at most ``most``; what is measured
    may be NaN.
    """

    kind: str
    words: Mapping[str, int] | None = None
    of: str = ""
    texts: frozenset[str] = frozenset()
    least: float = -inf
    most: float = inf

    def dtype(self, own: np.dtype | None) -> np.dtype:
        """The type in a file: its ``own``, if it chooses."""
        if own is not None:
            return own
        return enum(self.words, self.kind) if self.words else np.dtype(self.kind)

    @property
    def bounded(self) -> bool:
        """Whether it says what cells are at least, or at most."""
        return self.least > -inf or self.most < inf

    def fits(self, dtype: np.dtype) -> bool:
        """Whether a stored column has a type that this one may have, and words that mean the same
        here.
        """
        stored = words_of(dtype)
        if self.words:
            known = all(self.words.get(word) == number for number, word in stored.items())
        else:
            known = sorted(stored) == [*range(len(stored))] and all(
                map(identifier, stored.values())
            )
        same = known and bool(stored) == (self.words is not None)
        return same and fnmatchcase(dtype.str, self.kind)


Columns: TypeAlias = Mapping[str, Column]
"""A table: its columns by name, in their order; one without a name where it is but a column."""


def identifier(word: str) -> bool:
    """Whether a word may be a name in C and in Python, and needs no quotes anywhere; or names a
    tensor of a list: ``hx[1]``.
    """
    return bool(re.fullmatch(r"[A-Za-z_]\w*(\[\d+\])?", word, re.ASCII))


def dtype(columns: Columns, **own: np.dtype) -> np.dtype:
    """The type of a table; ``own`` are those of columns that this file chooses."""
    return np.dtype([(name, column.dtype(own.get(name))) for name, column in columns.items()])


def table(
    columns: Columns, cells: Mapping[str, np.ndarray | list[bytes]], **own: np.dtype
) -> np.ndarray:
    """A table of cells, by column."""
    made = np.empty(len(next(iter(cells.values()))), dtype(columns, **own))
    for name, column in cells.items():
        made[name] = column
    return made


CASE = Column("<u4", of="cases")
_TEXT, _OWN = Column("|S*"), Column("[|<]u[12]", {})
_ROW, _COUNT = Column("<u4"), Column("<u2")
_STRING, _LIST = Column("<u4", of="strings"), Column("<u4", of="lists")
_ELEMENTS, _POSITION = Column("<i8", least=0), Column("<i8", least=min(NO_DATA, DRAWN))
_DIGEST, _NUMBER, _REAL = Column(f"|{DIGEST_TYPE}"), Column("<i8"), Column("<f8")
_POOLS = {
    "lists": {"start": _ROW, "length": _ROW},
    "integers": {"": _NUMBER},
    "digests": {"table": _TEXT, "xxh3": Column("|S32")},
}
NOT_KNOWN = -1
"""The number of elements that a device left unwritten, where nobody looked."""
NO_STATUS = "none"
"""The word that stands for a status that nobody recorded."""
_STATUS = Column("<u4", of="strings", texts=frozenset({"", NO_STATUS, *STATUS_WORDS}))
_COMPUTE = Column("<u4", of="strings", texts=frozenset({"", *formats.FORMATS, *dtypes.DTYPES}))
_CASES = {
    "id": _TEXT,
    "op": _OWN,
    "product": _OWN,
    "kind": Column("|i1", dtypes.KINDS),
    "phase": Column("|u1", least=1, most=2),
    "bucket": Column("|i1", dtypes.BUCKETS),
    "codes": _LIST,
    "library_codes": _LIST,
    "library_basis": Column("|i1", dtypes.BASES),
    "library_until": Column("|i1", dtypes.REACHES),
    "library_release": _STRING,
    **dict.fromkeys(dtypes.TEXTS, _STRING),
    "compute": _COMPUTE,
    "attributes_row": _ROW,
    "first_tensor": _ROW,
    "tensors": _COUNT,
    "first_break": _ROW,
    "breaks": _COUNT,
}
_TENSORS = {
    "case": CASE,
    "name": _OWN,
    "role": Column("|i1", dtypes.ROLES),
    "dtype": Column("|i1", dtypes.DTYPES),
    "format": Column("|i1", dtypes.FORMATS),
    "shape": _LIST,
    "strides": _LIST,
    "offset": _NUMBER,
    "storage_shape": _LIST,
    "elements": _ELEMENTS,
    "position": _POSITION,
    "digest": _DIGEST,
}
_BREAKS = {
    "case": CASE,
    "rule": _STRING,
    "clause": _STRING,
    "at": Column("<i4", least=-1),
    "found": _STRING,
}
BUNDLE: Mapping[str, Columns] = {
    "cases": _CASES,
    "tensors": _TENSORS,
    "breaks": _BREAKS,
    "seeds": {
        "tensor": Column("<u4", of="tensors"),
        "start": Column("<u8"),
        "low": _NUMBER,
        "high": _NUMBER,
        "exponent": Column("<i4", least=-1074, most=1023),
    },
    "maxima": {
        "tensor": Column("<u4", of="tensors"),
        "of": Column("<u4", of="tensors"),
        "rows": _LIST,
        "columns": _LIST,
    },
    "ranges": {"tensor": Column("<u4", of="tensors"), "low": _REAL, "high": _REAL},
    "parameters": {"op": _OWN, "name": _OWN, "kind": Column("|i1", dtypes.PARAMETER_KINDS)},
    **_POOLS,
}
RESULTS: Mapping[str, Columns] = {
    "results": {
        "case": _ROW,
        "id": _TEXT,
        "status": _NUMBER,
        "status_word": _STATUS,
        "run_status": _NUMBER,
        "run_status_word": _STATUS,
        "time": Column("<f8", least=0),
        "error": _STRING,
        "first_tensor": _ROW,
        "tensors": _COUNT,
    },
    "tensors": {
        "result": Column("<u4", of="results"),
        "name": _OWN,
        "dtype": Column("|i1", dtypes.DTYPES),
        "shape": _LIST,
        "elements": _ELEMENTS,
        "position": _ELEMENTS,
        "unwritten": Column("<i8", least=NOT_KNOWN),
        "digest": _DIGEST,
    },
    **_POOLS,
}
TABLES = {"bundle": BUNDLE, "results": RESULTS}
"""Kind of file to its tables, but ``/attributes``."""
ROWS = {"bundle": "cases", "results": "results"}
"""Kind of file to the table that has a row per case."""

ABSENT = Column("|b1")
"""The column ``<name>.null`` of ``/attributes/<op>``."""
SCALAR_DTYPE = Column("|i1")
"""The column ``<name>.dtype``."""
ARGUMENTS = {
    "int": Column("[|<][iu][1248]"),
    "bool": Column("|b1"),
    "float": _REAL,
    "int_array": _LIST,
    "bool_array": _LIST,
    "float_array": _LIST,
    "string": _STRING,
    "scalar": _REAL,
    "tensor_list": Column("[|<][iu][1248]"),
}
"""Kind of a parameter to its column in ``/attributes/<op>``; others have none."""
