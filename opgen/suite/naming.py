"""Names of cases: an id says what a case is, so that it stays the same when a plan grows around
it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from opgen.calls.aims import Aims
from opgen.calls.call_json import to_json
from opgen.calls.table import CallTable
from opgen.model import Kind
from opgen.suite.enumeration.enumerator import Drafted

DIGEST, LONG_DIGEST = 5, 32
"""Bytes of the digest in an id; the second where another case has the first already."""


@dataclass(frozen=True)
class Purpose:
    """What the rows of a table are for, beside their calls."""

    kind: Sequence[Kind]
    aims: Sequence[Aims]
    recipe: Sequence[str]
    nearest_valid: Sequence[str]
    ids: Sequence[str]
    given: Sequence[Mapping[str, Any]]

    def take(self, rows: np.ndarray) -> Purpose:
        """The same of the rows at ``rows``, in that order."""
        return Purpose(
            *(list(map(getattr(self, one.name).__getitem__, rows.tolist())) for one in fields(self))
        )


def product_in(one: str) -> str:
    """The product in an id that :func:`named` has made."""
    return one.split("-", 2)[1] if "-" in one else ""


def named(drafted: Drafted) -> tuple[CallTable, Purpose]:
    """Ids for drafted calls: operator, product, kind and a digest of the call and its recipe; equal
    calls are one case.
    """
    order: dict[str, int] = {}
    texts: dict[str, str] = {}
    aims: list[Aims] = []
    places = np.zeros(len(drafted.table), dtype=np.int64)
    kept: list[int] = []
    for row, call in enumerate(drafted.table.calls()):
        kind, mine = drafted.kind[row], drafted.aims[row]
        what: list[Any] = [call.product, to_json(call), drafted.recipe[row]]
        if row in drafted.given:
            what.append({name: list(values) for name, values in drafted.given[row].items()})
        text = json.dumps(what, separators=(",", ":"))
        for size in (DIGEST, LONG_DIGEST):
            digest = hashlib.blake2b(text.encode(), digest_size=size).hexdigest()
            one = "-".join(
                part
                for part in (drafted.spec.op, call.product, kind, mine[0].label, digest)
                if part
            )
            if texts.setdefault(one, text) == text:
                break
        if one not in order:
            order[one] = len(kept)
            kept.append(row)
            aims.append(mine)
        else:
            aims[order[one]] = tuple(dict.fromkeys(aims[order[one]] + mine))
        places[row] = order[one]
    ids = list(order)
    nearest_valid = [
        "" if drafted.nearest_valid[row] < 0 else ids[places[drafted.nearest_valid[row]]]
        for row in kept
    ]
    kinds: list[Kind] = [drafted.kind[row] for row in kept]  # type: ignore[misc]
    given = [drafted.given.get(row, {}) for row in kept]
    purpose = Purpose(kinds, aims, [drafted.recipe[row] for row in kept], nearest_valid, ids, given)
    return drafted.table.take(np.array(kept, dtype=np.int64)), purpose
