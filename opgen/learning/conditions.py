"""Conditions in the spec's own words: what may tell calls apart that break the same rule.

A condition is about one thing that a call says: its product, the dtype, format, rank or pointer of
a tensor, whether a tensor is empty, a number, a mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
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
MOST_VALUES = 6
"""Values that a condition lists, at most."""
LISTED, EXCLUDED = 1.5, 2.0
"""Calls that each value of several needs which a condition lists, or keeps out."""
FAMILIES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "product": (("ascend910b", "ascend910_93"), ("ascend910b", "ascend910_93", "ascend950")),
    "format": (
        ("NC1HWC0", "NDC1HWC0", "FRACTAL_Z", "FRACTAL_Z_3D", "FRACTAL_NZ"),
        ("ND", "NCL", "NCHW", "NHWC", "NCDHW"),
    ),
    "dtype": (
        ("COMPLEX32", "COMPLEX64", "COMPLEX128"),
        ("HIFLOAT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN"),
        ("UINT16", "UINT32", "UINT64"),
        ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL"),
    ),
}
"""Words that a library is likely to treat alike: formats of the device alone, and those in which
frameworks keep images; complex numbers, floating point of 8 bits, wide numbers without a sign, all
whole numbers."""


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


@dataclass(frozen=True)
class Condition:
    """A condition and the (rows,) where it holds; the simpler, the smaller its ``cost``. ``word``:
    it is about a word, a rank or a truth, and no limit of a number. ``strange``: it is about
    something of which the rule does not speak, so that it may hold by chance. ``inside`` and
    ``outside``: calls that it needs where it holds, and that it has to keep out.
    """

    text: str
    rows: np.ndarray
    cost: float
    word: bool = False
    strange: bool = False
    inside: float = 0
    outside: float = 0


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


def about_emptiness(when: str) -> bool:
    """Whether a condition is that one of some tensors is empty.

    >>> about_emptiness("min(x.numel, y.numel) == 0"), about_emptiness("x.numel == 1")
    (True, False)
    """
    return " and " not in when and when.endswith(" == 0") and ".numel" in when


def varying(known: Sequence[Feature], related: Set[str]) -> list[Feature]:
    """Features that tell some rows from others, those about ``related`` names first; of several
    that say the same of all rows, the simplest.
    """
    made: dict[tuple[str, bytes, bytes], Feature] = {}
    for feature in sorted(known, key=lambda each: _cost(each, related)):
        bound, values = feature.bound, np.where(feature.bound, feature.values, 0)
        if bound.any() and not (bound.all() and (values == values[0]).all()):
            made.setdefault((feature.kind, values.tobytes(), bound.tobytes()), feature)
    return list(made.values())


def _cost(feature: Feature, related: Set[str]) -> float:
    names = feature.name.split()
    if feature.kind == "empty":
        return 0.25
    cost = 0.5 if names == ["product"] else 1.0 if not related >= set(names) else 0.0
    return cost + 0.25 * (len(names) - 1)


def candidates(
    known: Sequence[Feature], wanted: np.ndarray, related: Set[str]
) -> Iterator[Condition]:
    """Conditions on some calls that hold for some of those that are ``wanted``, (rows,) bool. Those
    about ``related`` names are the simplest.
    """
    for feature in known:
        strange = not related >= set(feature.name.split())
        if feature.kind == "dtype" and "product" in related:
            strange = False  # which dtypes a library takes depends on the product
        if feature.kind == "empty":
            strange = False  # a library may return at once where nothing is to be computed
        if feature.term.endswith(".null") and not related:
            strange = False  # a pointer that a call lacks is the first thing to look at
        cost = _cost(feature, related)
        distinct = np.unique(feature.values[feature.bound])
        if feature.kind in ("number", "count", "attribute"):
            distinct = distinct[np.isfinite(distinct)]  # conditions have no word for others
            drawn = feature.kind == "count" or (strange and bool(related))
            drawn &= feature.kind != "attribute"
            made = _limits(feature, distinct, wanted, cost, drawn)
        else:
            made = _memberships(feature, distinct, wanted, cost)
        for condition in made:
            yield replace(condition, strange=True) if strange else condition


def _memberships(
    feature: Feature, distinct: np.ndarray, wanted: np.ndarray, cost: float
) -> Iterator[Condition]:
    """The value is one of those that only wanted calls have, none of those of others, or this."""
    has = (feature.values == distinct[:, None]) & feature.bound
    inside, others = (has & wanted).any(axis=1), (has & ~wanted).any(axis=1)
    only, without = inside & ~others, others & ~inside
    among = int(only.sum()) <= int(others.sum())
    listed = [(only, among)] if only.any() and not only.all() else []
    kept = ~without
    listed += [(kept, False)] if without.any() and kept.sum() > 1 and (kept & others).any() else []
    for chosen, among in listed:
        values = distinct[chosen if among else ~chosen].tolist()
        if len(values) <= MOST_VALUES:
            some = len(values) if len(values) > 1 else 0
            yield Condition(
                feature.spelled(values, among),
                has[chosen].any(axis=0),
                cost + 0.25 * (len(values) - 1),
                word=True,
                inside=LISTED * some * among,
                outside=EXCLUDED * some * (not among),
            )
    for family in FAMILIES.get(feature.kind, ()):
        index = vocabulary().index[feature.kind]
        members = [index[word] for word in family]
        of_it = np.isin(distinct, members)
        if of_it.any() and not of_it.all():
            for among in (True, False):
                here = has[of_it == among].any(axis=0)
                yield Condition(feature.spelled(members, among), here, cost, word=True)
    yield from (
        Condition(feature.spelled([distinct[i].item()]), has[i], cost, word=True)
        for i in np.flatnonzero(inside).tolist()
        if feature.kind not in ("bool", "empty") or only.sum() != 1
    )


def _limits(
    feature: Feature, distinct: np.ndarray, wanted: np.ndarray, cost: float, drawn: bool
) -> Iterator[Condition]:
    """The number is 0, below 0, at most or at least one of those that calls have, where wanted
    calls end. Where other sizes than 0 and 1 are those that somebody drew, none of them is a limit.
    """
    values, bound = feature.values, feature.bound
    if (distinct == 0).any():
        yield Condition(f"{feature.term} == 0", bound & (values == 0), cost)
    if feature.kind == "count":
        yield Condition(f"{feature.term} == 1", bound & (values == 1), cost)
    if drawn:
        return
    if (distinct < 0).any():
        yield Condition(f"{feature.term} < 0", bound & (values < 0), cost)
    inside, others = (np.isin(distinct, values[bound & here]) for here in (wanted, ~wanted))
    ends = inside[:-1] & others[1:] | others[:-1] & inside[1:]
    for i in np.flatnonzero(ends).tolist():
        low, high = distinct[i].item(), distinct[i + 1].item()
        yield Condition(f"{feature.term} <= {low}", bound & (values <= low), cost + 0.5)
        yield Condition(f"{feature.term} >= {high}", bound & (values >= high), cost + 0.5)
