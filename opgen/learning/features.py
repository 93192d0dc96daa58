"""What calls say that may tell some from others: a product, the dtype, format, rank or pointer of a
tensor, whether one is empty, a number, a mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from opgen.calls.columns import ArrayColumn, ScalarColumn, TensorColumn, TypedColumn
from opgen.calls.vocabulary import vocabulary
from opgen.spec.rules import Rule
from opgen.spec.table_view import TableView

OWN = "{own}"
"""In a condition on several rules: the parameter that each of them is about."""
MOST_COMPARED = 9
"""Tensors of which each is compared with each other, at most."""


@dataclass(frozen=True)
class Feature:
    """One thing that calls say: a term, the name that it is about, and its values, (rows,) where
    they are bound.
    """

    term: str
    name: str
    kind: str
    values: np.ndarray
    bound: np.ndarray

    def at(self, rows: np.ndarray) -> Feature:
        """The same of some rows, in that order."""
        return replace(self, values=self.values[rows], bound=self.bound[rows])

    def cost(self, related: Set[str]) -> float:
        """How strange it is to rules that speak of the ``related`` names."""
        names = self.name.split()
        if self.kind == "empty":
            return 0.25
        own = 0.5 if names == ["product"] else 1.0 if not related >= set(names) else 0.0
        return own + 0.25 * (len(names) - 1)

    def spelled(self, values: Sequence[float], among: bool = True) -> str:
        """A condition that the value is one of some, or none of them.

        >>> x = np.array([0])
        >>> Feature("x.rank", "x", "int", x, x == 0).spelled([3, 4])
        'x.rank in (3, 4)'
        """
        words = vocabulary().names.get(self.kind)
        texts = [repr(words[int(v)]) if words else str(v) for v in values]
        if self.kind in ("bool", "empty"):
            if bool(values[0]) == among:
                return self.term
            return self.term.replace("==", "!=") if "==" in self.term else f"not {self.term}"
        if len(texts) == 1:
            return f"{self.term} {'==' if among else '!='} {texts[0]}"
        return f"{self.term} {'in' if among else 'not in'} ({', '.join(texts)})"


def features(view: TableView) -> list[Feature]:
    """Everything that conditions may be about, of the rows of a table."""
    table, made = view.table, []
    rows = len(table)
    everywhere = np.ones(rows, dtype=bool)

    def add(term: str, name: str, kind: str, values: np.ndarray, bound: np.ndarray) -> None:
        if values.dtype != object:
            made.append(Feature(term, name, kind, values, np.broadcast_to(bound, rows)))

    add("product", "product", "product", table.product, everywhere)
    for name, column in table.columns.items():
        there = ~column.null
        if column.null.any() and view.spec.scope.kind((name, "null")) is not None:
            add(f"{name}.null", name, "bool", column.null, everywhere)
        if isinstance(column, TensorColumn):
            add(f"{name}.dtype", name, "dtype", column.dtype, there)
            add(f"{name}.format", name, "format", column.format, there)
            add(f"{name}.rank", name, "int", column.rank, there)
            add(f"{name}.numel", name, "count", column.numel(), there)
            if column.strided.any():
                add(f"{name}.strided", name, "bool", column.strided, there)
        elif isinstance(column, ArrayColumn):
            add(f"len({name})", name, "int", column.length, there)
            if column.values.dtype.kind == "i":
                add(f"lowest({name})", name, "number", column.values.min(axis=1), there)
                add(f"highest({name})", name, "number", column.values.max(axis=1), there)
            else:
                for i, values in enumerate(column.values.T):
                    add(f"{name}[{i}]", name, "bool", values, column.length > i)
        elif isinstance(column, ScalarColumn | TypedColumn) and column.values.dtype.kind in "bif":
            kind = "bool" if column.values.dtype.kind == "b" else "attribute"
            whole = view.spec.scope.kind((name, "")) is not None
            add(name if whole else f"len({name})", name, kind, column.values, there)
            if isinstance(column, TypedColumn):
                add(f"{name}.dtype", name, "dtype", column.dtype, there)
    tensors = [(n, c) for n, c in table.columns.items() if isinstance(c, TensorColumn)]
    together = {pair for rule in view.spec.rules for pair in combinations(_names(rule), 2)}
    for (left, a), (right, b) in combinations(tensors, 2):
        if len(tensors) > MOST_COMPARED and not {(left, right), (right, left)} & together:
            continue
        for what in ("dtype", "format", "rank", "numel"):
            same, there = _says(a, what) == _says(b, what), ~a.null & ~b.null
            if not same.all():
                add(f"{left}.{what} == {right}.{what}", f"{left} {right}", "bool", same, there)
    every = {p.name: p for p in (*view.spec.inputs, *view.spec.outputs)}
    for some in (view.spec.inputs, tuple(every.values())):
        if 2 <= len(some) <= MOST_COMPARED:
            of = [table.tensors[tensor.name] for tensor in some]
            empty = np.any([each.numel() == 0 for each in of], axis=0)
            there = ~np.any([each.null for each in of], axis=0)
            numbers = ", ".join(f"{tensor.name}.numel" for tensor in some)
            add(f"min({numbers}) == 0", " ".join(p.name for p in some), "empty", empty, there)
    for letter in view.spec.scope.occurrences:
        value = view.get((letter, ""))
        add(letter, letter, "number", np.broadcast_to(value.data, rows), np.asarray(value.bound))
    return made


def _says(column: TensorColumn, what: str) -> np.ndarray:
    return np.asarray(column.numel() if what == "numel" else getattr(column, what))


def _names(rule: Rule) -> tuple[str, ...]:
    """The names of which a rule speaks."""
    return tuple(dict.fromkeys(name for name, _ in rule.refs))


def own(known: Sequence[Feature], names: Sequence[str], rule: np.ndarray) -> Iterator[Feature]:
    """What the parameter that each rule is about says. ``names`` are those of the rules, ``rule``
    (rows,) says which of them a row is about; the features are those of the same rows.
    """
    of = {feature.term: feature for feature in known}
    for what, kind in (
        ("dtype", "dtype"),
        ("format", "format"),
        ("rank", "int"),
        ("numel", "count"),
    ):
        each = [of.get(f"{name}.{what}") for name in names]
        if all(each):
            pick = np.arange(len(rule))
            values = np.array([f.values for f in each if f])[rule, pick]
            bound = np.array([f.bound for f in each if f])[rule, pick]
            yield Feature(f"{OWN}.{what}", OWN, kind, values, bound)


def varying(known: Sequence[Feature], related: Set[str]) -> list[Feature]:
    """Features that tell some rows from others, those about ``related`` names first; of several
    that say the same of all rows, the simplest.
    """
    made: dict[tuple[str, bytes, bytes], Feature] = {}
    for feature in sorted(known, key=lambda each: each.cost(related)):
        bound, values = feature.bound, np.where(feature.bound, feature.values, 0)
        if bound.any() and not (bound.all() and (values == values[0]).all()):
            made.setdefault((feature.kind, values.tobytes(), bound.tobytes()), feature)
    return list(made.values())
