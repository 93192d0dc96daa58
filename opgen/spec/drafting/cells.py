"""Cells of a table of parameters that hold nothing but a list: dtypes, formats, ranks."""

from __future__ import annotations

import re

from opgen.calls.vocabulary import FEW_BITS, vocabulary
from opgen.spec.drafting.patterns import DTYPE_NAMES, normal

BLANK = ("", "-")
STRIDED = {"√": True, "x": False, "X": False, "×": False}
MOST_RANK = 8
"""The most axes that pages speak of; a cell that says more is not understood."""


def dtypes(cell: str) -> list[str] | None:
    """The dtypes of a cell; None where it is no list of them. One of few bits that opgen does not
    have is one too: the check of the spec refuses it.

    >>> dtypes("FLOAT32、FLOAT8_E8M0。"), dtypes("与self一致")
    (['FLOAT', 'FLOAT8_E8M0'], None)
    """
    return _known(cell, "dtype")


def formats(cell: str) -> list[str] | None:
    """The formats of a cell; None where it is no list of them."""
    return _known(cell, "format")


def _known(cell: str, kind: str) -> list[str] | None:
    words = [DTYPE_NAMES.get(word, word) for word in re.split("[、,]", normal(cell))]
    few_bits = {word for word in words if kind == "dtype" and FEW_BITS.fullmatch(word)}
    known = {*vocabulary().index[kind], *few_bits}
    return list(dict.fromkeys(words)) if all(word in known for word in words) else None


def ranks(cell: str) -> list[int] | None:
    """The ranks of a cell; None where it says more, or something else.

    >>> ranks("2-4"), ranks("4/5"), ranks("0~1、3维"), ranks("(N, C)")
    ([2, 3, 4], [4, 5], [0, 1, 3], None)
    """
    result: list[int] = []
    for part in re.split("[、,/或]", normal(cell)):
        limits = re.fullmatch(r"(\d)维?(?:[-~](\d)维?)?", part)
        if limits is None or int(limits[2] or limits[1]) > MOST_RANK:
            return None
        result += range(int(limits[1]), int(limits[2] or limits[1]) + 1)
    return sorted(set(result))
