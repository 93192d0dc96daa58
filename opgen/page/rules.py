"""Rules: what a page says about one parameter, or about several, as relations that columns can be held against.

A key of a parameter (``null dtype format rank shape dims empty length min max range enum``) is only a short way to write
relations; :data:`KEYS` holds the longhand of each. There is one mechanism for all rules: guarded relations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from opgen.calls import wide
from opgen.language.formulas import Value, certain
from opgen.language.logic import refuted
from opgen.language.terms import Columns, Reference, Relation, Term, View
from opgen.model import Bucket

Pair: TypeAlias = tuple[str | None, str]
"""(condition or ``None``, comparison), as text."""


@dataclass(frozen=True)
class Guard:
    """One relation and the condition under which it must hold."""

    when: Term | None
    require: Relation

    def broken(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where it applies, everything it names is bound, and its relation does not hold."""
        return self._where(refuted, view, rows)

    def applies(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where it applies and everything it names is bound."""
        return self._where(lambda held: np.asarray(held.bound), view, rows)

    def allows(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where its relation holds, unless its condition is known not to; one that names something unbound may hold."""
        held = wide.spread(certain(self.require.read(view)), rows)
        return held if self.when is None else np.asarray(held & ~refuted(self.when.read(view)))

    def _where(self, what: Callable[[Value], np.ndarray], view: View, rows: int) -> np.ndarray:
        """(rows,) bool: what is asked of the relation, where the condition holds; where it holds nowhere, nothing is read, and of
        columns nothing where a name is bound nowhere."""
        asked = None if self.when is None else holds(self.when, view, rows)
        if asked is not None and not np.count_nonzero(asked):
            return asked
        if isinstance(view, Columns):
            for reference in self.require.refs:
                bound = view.get(reference).bound
                if bound is not True and not np.count_nonzero(bound):
                    return np.zeros(rows, dtype=bool)
        found = what(self.require.read(view))
        return wide.spread(found, rows) if asked is None else np.asarray(asked & found)


@dataclass(frozen=True)
class Rule:
    """A constraint: ``id``, the page's lines, its guarded relations, and what the page says happens when it is broken.

    ``code`` and ``clause`` are ``None`` where the page names none. ``note`` is our reading, in our words.
    """

    id: str
    at: tuple[int, ...]
    guards: tuple[Guard, ...]
    bucket: Bucket
    code: int | None
    clause: str | None
    note: str = ""
    parameter: str | None = None
    key: str | None = None

    def broken(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where a guard applies, everything it names is bound, and its relation does not hold."""
        return _anywhere([guard.broken(view, rows) for guard in self.guards], rows)

    def applies(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where at least one guard applies and everything it names is bound."""
        return _anywhere([guard.applies(view, rows) for guard in self.guards], rows)

    def allows(self, view: View, rows: int) -> np.ndarray:
        """(rows,) bool: where a guard that applies, or may once all is bound, is met, and none that applies is broken."""
        met = _anywhere([guard.allows(view, rows) for guard in self.guards], rows)
        return np.asarray(met & ~self.broken(view, rows))

    @property
    def forbids(self) -> bool:
        """Whether the page forbids a call that breaks it; it does not where it is silent or contradicts itself."""
        return self.bucket in ("unsupported_product", "stated", "unstated")

    @property
    def refs(self) -> tuple[Reference, ...]:
        """Every reference of every guard, conditions included."""
        found: dict[Reference, None] = {}
        for guard in self.guards:
            found.update(dict.fromkeys(guard.require.refs))
            if guard.when is not None:
                found.update(dict.fromkeys(guard.when.refs))
        return tuple(found)

    @property
    def text(self) -> str:
        """The rule as a person would write it."""
        return "; ".join(g.require.text + (f" when {g.when.text}" if g.when else "") for g in self.guards)


def holds(when: Term | None, view: View, rows: int) -> np.ndarray:
    """(rows,) bool: where a condition is bound and true; everywhere for ``None``."""
    if when is None:
        return np.ones(rows, dtype=bool)
    if not isinstance(view, Columns) or not when.text:
        return wide.spread(certain(when.read(view)), rows)
    held = view.held.get(when.text)
    if held is None:
        held = view.held[when.text] = wide.spread(certain(when.read(view)), rows)
        held.flags.writeable = False
    return held


def _anywhere(columns: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """(rows,) bool: where one of the columns holds."""
    return reduce(np.logical_or, columns) if columns else np.zeros(rows, dtype=bool)


class KeyFault(Exception):
    """A key of a parameter whose value has the wrong form; the message says what is expected."""


def _words(values: Any, what: str = "names") -> str:
    if not isinstance(values, list) or not values or not all(isinstance(v, str) for v in values):
        raise KeyFault(f"expects a list of {what}")
    return "(" + ", ".join(f"'{v}'" for v in values) + ",)"


def _numbers(values: Any) -> str:
    values = values if isinstance(values, list) else [values]
    if not values or not all(isinstance(v, (int, str)) and not isinstance(v, bool) for v in values):
        raise KeyFault("expects a number, a term, or a list of them")
    return "(" + ", ".join(map(str, values)) + ",)"


def _null(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if value is True:
        return
    if value is not False and not isinstance(value, str):
        raise KeyFault("expects false (never), true (always allowed), or the condition under which null is allowed")
    yield (f"not ({value})" if isinstance(value, str) else None), f"{name}.null == False"


def _dtype(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if isinstance(value, list):
        yield None, f"{name}.dtype in {_words(value, 'dtypes')}"
        return
    if not isinstance(value, dict) or not value:
        raise KeyFault("expects a list of dtypes, or a mapping of product (or any) to such a list")
    named = [product for product in value if product != "any"]
    for product, dtypes in value.items():
        others = f"product not in {_words(named)}" if named else None
        when = others if product == "any" else f"product == '{product}'"
        yield when, f"{name}.dtype in {_words(dtypes, 'dtypes')}"


def _format(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if isinstance(value, list):
        yield None, f"{name}.format in {_words(value, 'formats')}"
        return
    if not isinstance(value, dict) or not all(isinstance(rank, int) for rank in value):
        raise KeyFault("expects a list of formats, or a mapping of rank to such a list")
    for rank, formats in value.items():
        yield f"{name}.rank == {rank}", f"{name}.format in {_words(formats, 'formats')}"


def _rank(name: str, kind: str, value: Any) -> Iterator[Pair]:
    yield None, f"{name}.rank in {_numbers(value)}"


def _shape(name: str, kind: str, value: Any) -> Iterator[Pair]:
    for rank, letters in value.items():
        yield f"{name}.rank == {rank}", f"{name}.shape == ({', '.join(map(str, letters))},)"


def _dims(name: str, kind: str, value: Any) -> Iterator[Pair]:
    yield from _range(name, "int_array", value)


def _empty(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if value is True:
        return
    if value is not False:
        raise KeyFault("expects false (no extent may be 0) or true (the page allows empty tensors)")
    yield None, f"{name}.numel != 0"


def _length(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if not isinstance(value, dict):
        yield None, f"len({name}) in {_numbers(value)}"
        return
    for of, cases in value.items():
        if not isinstance(cases, dict):
            raise KeyFault("expects lengths, or a term and for each of its values the lengths")
        for number, lengths in cases.items():
            yield f"{of} == {number}", f"len({name}) in {_numbers(lengths)}"


def _bounds(name: str, kind: str) -> tuple[str, str]:
    return (name, name) if kind in ("int8", "int32", "int64") else (f"lowest({name})", f"highest({name})")


def _min(name: str, kind: str, value: Any) -> Iterator[Pair]:
    yield None, f"{_bounds(name, kind)[0]} >= {value}"


def _max(name: str, kind: str, value: Any) -> Iterator[Pair]:
    yield None, f"{_bounds(name, kind)[1]} <= {value}"


def _range(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if not isinstance(value, list) or len(value) != 2 or value == [None, None]:
        raise KeyFault("expects [lowest, highest]; null stands for no limit")
    if all(type(limit) is int for limit in value) and value[0] > value[1]:
        raise KeyFault(f"lets nothing pass: {value[0]} is more than {value[1]}")
    if value[0] is not None:
        yield from _min(name, kind, value[0])
    if value[1] is not None:
        yield from _max(name, kind, value[1])


def _enum(name: str, kind: str, value: Any) -> Iterator[Pair]:
    if not isinstance(value, dict) or not value or not all(type(n) is int and isinstance(word, str) for n, word in value.items()):
        raise KeyFault("expects a mapping of number to name")
    yield None, f"{name} in {_numbers(list(value))}"


KEYS: Mapping[str, tuple[frozenset[str], Callable[[str, str, Any], Iterator[Pair]]]] = {
    "null": (frozenset({"tensor", "output", "int_array", "bool_array"}), _null),
    "dtype": (frozenset({"tensor", "output"}), _dtype),
    "format": (frozenset({"tensor", "output"}), _format),
    "rank": (frozenset({"tensor", "output"}), _rank),
    "shape": (frozenset({"tensor", "output"}), _shape),
    "dims": (frozenset({"tensor", "output"}), _dims),
    "empty": (frozenset({"tensor", "output"}), _empty),
    "length": (frozenset({"int_array", "bool_array"}), _length),
    "min": (frozenset({"int_array", "int8", "int32", "int64"}), _min),
    "max": (frozenset({"int_array", "int8", "int32", "int64"}), _max),
    "range": (frozenset({"int_array", "int8", "int32", "int64"}), _range),
    "enum": (frozenset({"int8", "int32", "int64"}), _enum),
}
"""Key -> the kinds of parameter that have it, and its longhand."""
