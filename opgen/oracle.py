"""The oracle: table -> broken rules -> what a device may answer.

It reads, and never makes a call. One pass per rule over whole columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgen.binding import TableView
from opgen.model import Break, Bucket, Code, Expectation
from opgen.rules import Rule
from opgen.spec import Spec
from opgen.table import CallTable
from opgen.terms import Reference
from opgen.words import words

ORDER: tuple[Bucket, ...] = ("unsupported_product", "stated", "unstated", "disputed", "assumed", "valid")
"""The bucket of a call that breaks several rules is the first of these that occurs."""
_FORBIDDEN = ("unsupported_product", "stated", "unstated")


@dataclass(frozen=True)
class Judgement:
    """What a page says of every row of a table. ``broken`` is (rules, rows) bool, in the order of ``spec.rules``."""

    spec: Spec
    table: CallTable
    view: TableView
    broken: np.ndarray

    @cached_property
    def bucket(self) -> np.ndarray:
        """(rows,) int8: position in :data:`ORDER`."""
        result = np.full(len(self.table), ORDER.index("valid"), dtype=np.int8)
        for rule, rows in zip(self.spec.rules, self.broken, strict=True):
            result[rows] = np.minimum(result[rows], ORDER.index(rule.bucket))
        return result

    @cached_property
    def valid(self) -> np.ndarray:
        """(rows,) bool: breaks nothing."""
        return np.asarray(~self.broken.any(axis=0))

    @cached_property
    def admissible(self) -> np.ndarray:
        """(rows,) int64: bit i for ``spec.codes[i]``, the next bit for any error."""
        result = np.zeros(len(self.table), dtype=np.int64)
        for rule, rows in zip(self.spec.rules, self.broken, strict=True):
            if rule.bucket in _FORBIDDEN:
                result[rows] |= 1 << (self.spec.codes.index(rule.code) if rule.code is not None else len(self.spec.codes))
        return result

    def codes(self, row: int) -> tuple[Code, ...]:
        """The admissible codes of one row, numbers ascending, then words."""
        bits, bucket = int(self.admissible[row]), ORDER[self.bucket[row]]
        if bucket == "valid":
            return (0,)
        if not bits:
            return (0, "any_error")
        named = tuple(code for i, code in enumerate(self.spec.codes) if bits >> i & 1)
        return named + (("any_error",) if bits >> len(self.spec.codes) & 1 else ())

    def expectation(self, row: int) -> Expectation:
        """One row whole: codes, bucket, and what it breaks."""
        broken = [self.spec.rules[i] for i in np.flatnonzero(self.broken[:, row])]
        breaks = tuple(Break(r.id, r.clause, r.at[0] if r.at else None, self.found(r, row)) for r in broken)
        return Expectation(self.codes(row), ORDER[self.bucket[row]], breaks)

    def found(self, rule: Rule, row: int) -> str:
        """The values that a rule's relations read on one row: ``padH=2, kH=2``."""
        shown: dict[str, str] = {}
        for guard in rule.guards:
            for reference in guard.require.refs:
                shown.setdefault(label(reference), show(self.spec, self.view, reference, row))
        return ", ".join(f"{name}={value}" for name, value in shown.items())


def judge(spec: Spec, table: CallTable) -> Judgement:
    """Hold every row against every rule of the page."""
    view = TableView(spec, table)
    rows = len(table)
    broken = np.array([rule.broken(view, rows) for rule in spec.rules], dtype=bool).reshape(len(spec.rules), rows)
    return Judgement(spec, table, view, broken)


def label(reference: Reference) -> str:
    """How a person writes a reference: ``kH``, ``self.dtype``, ``len(padding)``, ``outputMask[2]``."""
    name, what = reference
    if what == "":
        return name
    if isinstance(what, tuple):
        return f"{name}.shape[{what[1]}]"
    if isinstance(what, int):
        return f"{name}[{what}]"
    return f"{what}({name})" if what in ("len", "lowest", "highest") else f"{name}.{what}"


def show(spec: Spec, view: TableView, reference: Reference, row: int) -> str:
    """The value of a reference on one row, in the words of calls; ``unbound`` where it has none."""
    value = view.get(reference)
    if not np.broadcast_to(np.asarray(value.bound), len(view.table))[row]:
        return "unbound"
    kind = spec.scope.kind(reference)
    if kind == "shape":
        rank, extents = value.data
        return "[" + ", ".join(str(int(e)) for e in extents[row, : rank[row]]) + "]"
    number = np.broadcast_to(np.asarray(value.data), len(view.table))[row]
    if kind in ("dtype", "format", "product"):
        return words().names[kind][number]
    return str(bool(number)).lower() if kind == "bool" else str(int(number))
