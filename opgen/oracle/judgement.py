"""The oracle: table -> broken rules -> what a device may answer.

It reads, and never makes a call. One pass per rule over whole columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgen.calls.categorical import Categorical
from opgen.calls.kinds import REAL
from opgen.calls.reals import shortest
from opgen.calls.table import CallTable, concatenate
from opgen.calls.vocabulary import vocabulary
from opgen.model import ANY_ERROR, Break, Bucket, Code, Expectation, of_a_check
from opgen.spec.compute_dtype import ComputeDtypes, compute_dtypes
from opgen.spec.language.term import Reference
from opgen.spec.parameter import Parameter
from opgen.spec.rules import Rule, true_where
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView

ORDER: tuple[Bucket, ...] = (
    "unsupported_product",
    "stated",
    "unstated",
    "disputed",
    "assumed",
    "valid",
)
"""The bucket of a call that breaks several rules is the first of these that occurs."""

UNBOUND = "unbound"
"""Shown for a value that a row does not have."""


@dataclass(frozen=True)
class Judgement:
    """What a page says of every row of a table. ``broken`` is (rules, rows) bool, in the order of
    ``spec.rules``.
    """

    spec: Spec
    table: CallTable
    view: TableView
    broken: np.ndarray

    @cached_property
    def breaking(self) -> list[tuple[Rule, np.ndarray]]:
        """The rules that some row breaks, and the rows, as (rows,) bool."""
        return [
            (self.spec.rules[i], self.broken[i])
            for i in np.flatnonzero(self.broken.any(axis=1)).tolist()
        ]

    @cached_property
    def bucket(self) -> np.ndarray:
        """(rows,) int8: position in :data:`ORDER`."""
        result = np.full(len(self.table), ORDER.index("valid"), dtype=np.int8)
        for rule, rows in self.breaking:
            result[rows] = np.minimum(result[rows], ORDER.index(rule.bucket))
        return result

    @cached_property
    def valid(self) -> np.ndarray:
        """(rows,) bool: breaks nothing."""
        return np.asarray(~self.broken.any(axis=0))

    def asked_for(self, output: Parameter) -> np.ndarray:
        """(rows,) bool: where the mask of an output is set and its pointer is not null."""
        null = self.view.get((output.name, "null")).data
        return np.asarray(~null & true_where(output.mask, self.view, len(self.table)))

    @cached_property
    def wanted(self) -> dict[str, np.ndarray]:
        """Output -> (rows,) bool: where it is asked for."""
        return {output.name: self.asked_for(output) for output in self.spec.outputs}

    @cached_property
    def compute(self) -> ComputeDtypes:
        """(rows,) each: the dtype that inputs are rounded to, and where that is optional."""
        return compute_dtypes(self.spec, self.view, len(self.table))

    @cached_property
    def admissible(self) -> np.ndarray:
        """(rows,) int64: bit i for ``spec.codes[i]``, the next bit for any error."""
        result = np.zeros(len(self.table), dtype=np.int64)
        for rule, rows in self.breaking:
            if rule.forbids:
                result[rows] |= 1 << (
                    self.spec.codes.index(rule.code)
                    if rule.code is not None
                    else len(self.spec.codes)
                )
        return result

    def admits(self, code: Code) -> np.ndarray:
        """(rows,) bool: a device may answer this code."""
        named, open_to_all = self.spec.codes, ~self.valid & (self.admissible == 0)
        if code == 0:
            return np.asarray(self.valid | open_to_all)
        any_error = of_a_check(code)
        bits = any_error << len(named) | (1 << named.index(code) if code in named else 0)
        return np.asarray((open_to_all & any_error) | (self.admissible & bits != 0))

    def codes(self, row: int) -> tuple[Code, ...]:
        """The admissible codes of one row, numbers ascending, then words."""
        bits = int(self.admissible[row])
        if self.valid[row]:
            return (0,)
        if not bits:
            return (0, ANY_ERROR)
        named = tuple(code for i, code in enumerate(self.spec.codes) if bits >> i & 1)
        return named + ((ANY_ERROR,) if bits >> len(self.spec.codes) & 1 else ())

    def expectation(self, row: int) -> Expectation:
        """One row whole: codes, bucket, and what it breaks."""
        return self.expectations(np.array([row]))[0]

    def take(self, rows: np.ndarray) -> Judgement:
        """The same of the rows at ``rows``, in that order; none is judged again."""
        if np.array_equal(rows, np.arange(len(self.table))):
            return self
        table = self.table.take(rows)
        return Judgement(self.spec, table, TableView(self.spec, table), self.broken[:, rows])

    @classmethod
    def concatenate(cls, parts: Sequence[Judgement]) -> Judgement:
        """The rows of several judgements of one page, one after the other; at least one."""
        if len(parts) == 1:
            return parts[0]
        spec, table = parts[0].spec, concatenate([part.table for part in parts])
        broken = np.concatenate([part.broken for part in parts], axis=1)
        return cls(spec, table, TableView(spec, table), broken)

    def expectations(self, rows: np.ndarray | None = None) -> Categorical[Expectation]:
        """The rows at ``rows``, or all."""
        rows = np.arange(len(self.table)) if rows is None else rows
        broken: dict[int, tuple[Break, ...]] = {}
        for rule, here in self.breaking:
            places = np.flatnonzero(here[rows])
            told = zip(self.lines(rule, rows[places]), self.values(rule, rows[places]), strict=True)
            known: dict[tuple[int | None, str], Break] = {}
            for place, (line, values) in zip(places.tolist(), told, strict=True):
                if (line, values) not in known:
                    known[line, values] = Break(rule.id, rule.clause, line, values)
                broken[place] = (*broken.get(place, ()), known[line, values])
        number = np.zeros(len(rows), dtype=np.intp)
        numbers: dict[tuple[int, ...], int] = {}
        answers = [Expectation((0,), "valid")]
        for place, breaks in broken.items():
            key = tuple(map(id, breaks))  # equal ones are one object
            if key not in numbers:
                row, numbers[key] = rows[place], len(answers)
                answers.append(Expectation(self.codes(row), ORDER[self.bucket[row]], breaks))
            number[place] = numbers[key]
        return Categorical.coded(answers, number)

    def lines(self, rule: Rule, rows: np.ndarray) -> list[int | None]:
        """The line of the page that ``rows`` break: the rule's first or, where guards have lines of
        their own, that of the broken guard, None where it has none.
        """
        telling = [guard for guard in rule.guards if guard.at]
        result: list[int | None] = [rule.at[0] if rule.at and not telling else None] * len(rows)
        for guard in reversed(telling):
            for place in np.flatnonzero(guard.broken(self.view, len(self.table))[rows]).tolist():
                result[place] = guard.at[0]
        return result

    def values(self, rule: Rule, rows: np.ndarray) -> list[str]:
        """The values that a rule's relations read on ``rows``: ``padH=2, kH=2``. What a row lacks,
        such as the axes of other ranks, is not among them: no relation that reads it is broken
        there.
        """
        references = dict.fromkeys(
            reference for guard in rule.guards for reference in guard.require.refs
        )
        columns = [show(self.spec, self.view, reference, rows) for reference in references]
        labels = list(map(label, references))
        if not any(UNBOUND in column for column in columns):
            text = ", ".join(f"{name}=%s" for name in labels)
            return [text % values for values in zip(*columns, strict=True)]
        return [
            ", ".join(
                f"{name}={value}"
                for name, value in zip(labels, values, strict=True)
                if value != UNBOUND
            )
            for values in zip(*columns, strict=True)
        ]


def judge(spec: Spec, table: CallTable) -> Judgement:
    """Hold every row against every rule of the page."""
    view = TableView(spec, table)
    rows = len(table)
    broken = np.array([rule.broken(view, rows) for rule in spec.rules], dtype=bool).reshape(
        len(spec.rules), rows
    )
    return Judgement(spec, table, view, broken)


def label(reference: Reference) -> str:
    """How a person writes a reference: ``kH``, ``self.dtype``, ``len(padding)``,
    ``outputMask[2]``.
    """
    name, what = reference
    if what in ("", "values"):
        return name
    if isinstance(what, tuple):
        return f"{name}.shape[{what[1]}]"
    if isinstance(what, int):
        return f"{name}[{what}]"
    return f"{what}({name})" if what in ("len", "lowest", "highest") else f"{name}.{what}"


def show(spec: Spec, view: TableView, reference: Reference, rows: np.ndarray) -> list[str]:
    """The values of a reference on ``rows``, in the words of calls; :data:`UNBOUND` where it has
    none.
    """
    value, total = view.get(reference), len(view.table)
    bound = np.broadcast_to(np.asarray(value.bound), total)[rows]
    kind = spec.scope.kind(reference)
    if kind == "shape":
        rank, extents = value.data
        shapes = zip(extents[rows].tolist(), rank[rows].tolist(), strict=True)
        shown = [str(list(shape[:size])) for shape, size in shapes]
    else:
        numbers = np.broadcast_to(np.asarray(value.data), total)[rows].tolist()
        words = vocabulary().names.get(kind or "")
        if kind is not None and kind in REAL:
            shown = [shortest(n, REAL[kind]) for n in numbers]
        elif kind == "string":
            shown = list(map(repr, numbers))
        else:
            shown = [words[n] if words else str(n).lower() for n in numbers]
    return [text if known else UNBOUND for text, known in zip(shown, bound.tolist(), strict=True)]
