"""Calls in the making: what is chosen, what follows from it, and the table that comes of both.

A draft reads names like a table does, but from choices: an edit first, then a plan's axis, then a plan's ``let``, then the
page's own equalities (``Hout == pooled(...)`` also says what Hout is), then defaults. It never says whether a call is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from opgen import strides, wide
from opgen.formulas import Value
from opgen.rules import Rule
from opgen.spec import Parameter, Spec
from opgen.table import ArrayColumn, CallTable, Column, ScalarColumn, TensorColumn
from opgen.terms import Reference, Term
from opgen.words import words

Choice: TypeAlias = "Value | Callable[[Draft], Value]"
"""A column of choices, or what reads one off a draft (an axis whose values are terms)."""
MAX_ITEMS = 12
_SHARED = {"dtype": ("dtype", ""), "rank": ("rank", ""), "format": ("format", ""), "view": ("view", "")}
"""What a plan may choose once for all tensors."""
_DEFAULTS: Mapping[str, Any] = {"int": 1, "bool": False, "dtype": 0, "format": 0, "product": 0, "view": 0}


class Draft:
    """``rows`` calls of one spec. ``chosen`` are whole columns, ``edits`` columns bound where they overrule everything,
    ``lets`` a plan's terms. ``before`` is an earlier draft, row by row at ``came_from``: its values stand where a name would
    otherwise be unbound, and in ``frozen`` rows wherever nothing is edited, so that nothing follows from the edit."""

    def __init__(
        self,
        spec: Spec,
        rows: int,
        chosen: Mapping[Reference, Choice],
        lets: Mapping[Reference, tuple[tuple[Term | None, Term], ...]],
        edits: Mapping[Reference, Value] | None = None,
        before: Draft | None = None,
        came_from: np.ndarray | None = None,
        frozen: np.ndarray | None = None,
    ) -> None:
        self.spec = spec
        self.rows = rows
        self.chosen = chosen
        self.lets = lets
        self.edits = edits or {}
        self.before = before
        self.came_from = came_from
        self.frozen = frozen
        self.known: dict[Reference, Value] = {}
        self.reads: dict[Reference, frozenset[Reference]] = {}
        self.open: list[set[Reference]] = [set()]
        self.busy: set[Reference] = set()

    def get(self, reference: Reference) -> Value:
        """A column; as a side effect notes which chosen columns it was computed from."""
        value = self.known.get(reference)
        if value is None:
            if reference in self.busy:
                return self.nothing(reference)
            self.busy.add(reference)
            self.open.append(set())
            value = self.known[reference] = self.resolve(reference)
            self.busy.discard(reference)
            self.reads[reference] = frozenset(self.open.pop())
        self.open[-1] |= self.reads[reference]
        return value

    def resolve(self, reference: Reference) -> Value:
        value = self.layered(reference)
        return self.with_edited_extents(reference[0], value) if reference[1] == "shape" and self.edits else value

    def with_edited_extents(self, name: str, value: Value) -> Value:
        """Single extents that are edited, on top of a whole shape."""
        rank, extents = value.data
        extents = np.broadcast_to(extents, (self.rows, extents.shape[-1])).copy()
        for i in range(extents.shape[1]):
            edit = self.edits.get((name, ("dim", i)))
            if edit is not None:
                extents[:, i] = np.where(edit.bound & (rank > i), edit.data, extents[:, i])
        return Value((rank, extents), value.bound)

    def layered(self, reference: Reference) -> Value:
        result: Value | None = None
        for layer in self.layers(reference):
            result = layer if result is None else self.stack(reference, result, layer)
            if np.all(result.bound):
                return Value(result.data, True)
        fallback = self.fallback(reference)
        return fallback if result is None else Value(self.stack(reference, result, fallback).data, True)

    def layers(self, reference: Reference) -> Iterator[Value]:
        """Everything that says what a reference is, the strongest first."""
        name, what = reference
        if reference in self.edits:
            yield self.edits[reference]
        if what in _SHARED and _SHARED[what] in self.edits:
            yield self.edits[_SHARED[what]]
        if what == "" and self.edits:
            yield from self.edited_with(name)
        if self.before is not None and self.frozen is not None and self.frozen.any():
            yield self.earlier(reference, self.frozen)
        if reference in self.chosen:
            self.open[-1].add(reference)
            choice = self.chosen[reference]
            yield choice(self) if callable(choice) else choice
            return
        for when, term in self.lets.get(reference, ()):
            yield self.guarded(when, term.read(self))
        for rule, sign in self.definitions(reference):
            if sign == "==":
                yield from self.defined(rule, reference)
        parameter = self.spec.parameters.get(name)
        if parameter is not None:
            yield from self.derived(parameter, what)
        for rule, sign in self.definitions(reference):
            if sign == "in":
                yield from self.defined(rule, reference)
        if what == "len" and parameter is not None and parameter.items:
            yield Value(np.asarray(max(parameter.items)))
        if self.before is not None:
            yield self.earlier(reference, True)

    def earlier(self, reference: Reference, bound: Any) -> Value:
        """The value that a reference had in the draft before, at the rows that these came from."""
        assert self.before is not None
        value, rows = self.before.get(reference), self.came_from
        if isinstance(value.data, tuple):
            extents = np.broadcast_to(value.data[1], (self.before.rows, value.data[1].shape[-1]))
            return Value((np.broadcast_to(value.data[0], self.before.rows)[rows], extents[rows]), bound)
        return Value(np.broadcast_to(np.asarray(value.data), self.before.rows)[rows], bound)

    def edited_with(self, name: str) -> Iterator[Value]:
        """The edit of the name that shares an array's item with this one, where the array has the length that they share."""
        for parameter in self.spec.parameters.values():
            for size, slots in parameter.items.items():
                for first, *others in slots:
                    edit = self.edits.get((first, "")) if name in others else None
                    if edit is not None:
                        length = np.broadcast_to(np.asarray(self.get((parameter.name, "len")).data), self.rows)
                        yield Value(edit.data, edit.bound & (length == size))

    def definitions(self, reference: Reference) -> list[tuple[Rule, str]]:
        return _definitions(self.spec).get(reference, [])

    def defined(self, rule: Rule, reference: Reference) -> Iterator[Value]:
        for guard in rule.guards:
            if guard.require.left.refs[:1] == (reference,) and guard.require.operator in ("==", "in"):
                yield self.guarded(guard.when, guard.require.right[0].read(self))

    def guarded(self, when: Term | None, value: Value) -> Value:
        if when is None:
            return value
        asked = when.read(self)
        return Value(value.data, asked.data & asked.bound & value.bound, value.over)

    # what a parameter's attributes are made of -------------------------------------------------------------------------
    def derived(self, parameter: Parameter, what: Any) -> Iterator[Value]:
        if parameter.is_tensor:
            yield from self.of_tensor(parameter, what)
        elif parameter.is_array:
            yield from self.of_array(parameter, what)

    def of_tensor(self, parameter: Parameter, what: Any) -> Iterator[Value]:
        name = parameter.name
        if what == "null":
            yield Value(np.asarray(False))
        elif what in _SHARED and (_SHARED[what] in self.chosen or _SHARED[what] in self.lets) and (what != "rank" or parameter.shapes):
            yield self.get(_SHARED[what])
        elif what == "shape":
            yield self.lettered(parameter)
        elif what == "rank":
            yield Value(np.broadcast_to(self.get((name, "shape")).data[0], self.rows))
        elif what == "strided":
            yield Value(np.asarray(self.get((name, "view")).data) != 0)
        elif what in ("numel", "lowest", "highest") or isinstance(what, tuple):
            rank, extents = self.get((name, "shape")).data
            inside = np.arange(extents.shape[1]) < np.broadcast_to(rank, self.rows)[:, None]
            if isinstance(what, tuple):
                yield Value(np.broadcast_to(extents[:, what[1]] if what[1] < extents.shape[1] else 1, self.rows))
            elif what == "numel":
                yield Value(np.broadcast_to(wide.product_along(extents), self.rows))
            else:
                pick, fill = (np.min, 2**62) if what == "lowest" else (np.max, -(2**62))
                yield Value(np.broadcast_to(pick(np.where(inside, extents, fill), axis=1), self.rows), np.broadcast_to(rank, self.rows) > 0)

    def lettered(self, parameter: Parameter) -> Value:
        """The shape that a parameter's letters give at its rank; unbound where the page knows no such rank."""
        width = max(parameter.shapes, default=0)
        rank = np.zeros(self.rows, dtype=np.int64)
        bound = np.zeros(self.rows, dtype=bool)
        extents = np.ones((self.rows, max(width, 1)), dtype=np.int64)
        if not parameter.shapes:
            return Value((rank, extents), bound)
        wanted = np.broadcast_to(self.get((parameter.name, "rank")).data, self.rows)
        for size, letters in parameter.shapes.items():
            here = wanted == size
            if self.rows > 1 and not here.any():
                continue
            rank, bound = np.where(here, size, rank), bound | here
            for i, letter in enumerate(letters):
                column = letter if isinstance(letter, int) else self.get((letter, "")).data
                extents = extents.astype(object) if getattr(column, "dtype", None) == object else extents
                extents[:, i] = np.where(here, column, extents[:, i])
        return Value((rank, extents), bound)

    def of_array(self, parameter: Parameter, what: Any) -> Iterator[Value]:
        name = parameter.name
        if what == "null":
            yield Value(np.asarray(False))
        elif what == "len":
            if (name, "values") in self.chosen or (name, "values") in self.edits:
                length, _ = self.get((name, "values")).data
                yield Value(length)
        elif what in ("lowest", "highest"):
            length, values = self.slots(parameter)
            inside = np.arange(values.shape[1]) < length[:, None]
            pick, fill = (np.min, 2**62) if what == "lowest" else (np.max, -(2**62))
            yield Value(pick(np.where(inside, values, fill), axis=1), length > 0)
        elif isinstance(what, int):
            length, values = self.slots(parameter)
            yield Value(values[:, what] if what < values.shape[1] else np.zeros(self.rows, values.dtype), length > what)

    def slots(self, parameter: Parameter) -> tuple[np.ndarray, np.ndarray]:
        """(length, values) of an array: its items by name, or the list that was chosen whole; item edits on top."""
        name = parameter.name
        length = np.broadcast_to(np.asarray(self.get((name, "len")).data), self.rows)
        width = int(min(max(length.max(initial=0), 1), MAX_ITEMS))
        whole = self.get((name, "values")) if (name, "values") in self.chosen else None
        values: np.ndarray = np.zeros((self.rows, width), dtype=bool if parameter.kind == "bool_array" else np.int64)
        if whole is not None:
            given = np.broadcast_to(whole.data[1], (self.rows, whole.data[1].shape[-1]))[:, :width]
            values[:, : given.shape[1]] = given
        else:
            for size, slots in parameter.items.items():
                here = length == size
                for i, names in enumerate(slots[:width]):
                    if self.rows == 1 or here.any():
                        values[:, i] = np.where(here, self.get((names[0], "")).data, values[:, i])
            known = np.isin(length, list(parameter.items))
            longest = parameter.items.get(max(parameter.items, default=0), ())
            for i in range(width if not known.all() else 0):
                filler = self.get((longest[min(i, len(longest) - 1)][0], "")).data if longest else 0
                values[:, i] = np.where(~known & (i < length), filler, values[:, i])
        edited = self.edits.get((name, "values"))
        if edited is not None:
            extra = edited.data[1].shape[1] - width
            values = np.pad(values, ((0, 0), (0, max(extra, 0))))
            rows = np.flatnonzero(edited.bound)
            values[rows, : edited.data[1].shape[1]] = edited.data[1][rows]
        for i in range(width):
            item = self.edits.get((name, i))
            if item is not None:
                values[:, i] = np.where(item.bound, item.data, values[:, i])
        return length, values

    # odds and ends ----------------------------------------------------------------------------------------------------
    def kind(self, reference: Reference) -> str:
        return kind_of(self.spec, reference)

    def stack(self, reference: Reference, over: Value, under: Value) -> Value:
        """``over`` where it is bound, else ``under``."""
        here = np.broadcast_to(np.asarray(over.bound), self.rows)
        if isinstance(over.data, tuple):
            rank = np.where(here, over.data[0], under.data[0])
            width = max(over.data[1].shape[-1], under.data[1].shape[-1])
            a, b = (np.pad(np.broadcast_to(m, (self.rows, m.shape[-1])), ((0, 0), (0, width - m.shape[-1])), constant_values=1)
                    for m in (over.data[1], under.data[1]))  # fmt: skip
            return Value((rank, np.where(here[:, None], a, b)), here | under.bound)
        return Value(np.where(here, over.data, under.data), here | under.bound)

    def nothing(self, reference: Reference) -> Value:
        value = self.fallback(reference)
        return Value(value.data, np.zeros(self.rows, dtype=bool))

    def fallback(self, reference: Reference) -> Value:
        kind = self.kind(reference)
        if kind in ("shape", "values"):
            return Value((np.zeros(self.rows, dtype=np.int64), np.ones((self.rows, 1), dtype=np.int64)))
        return Value(np.full(self.rows, _DEFAULTS[kind]))

    # the table --------------------------------------------------------------------------------------------------------
    def table(self) -> CallTable:
        """Every row as a call, whether legal or not."""
        columns: dict[str, Column] = {p.name: self.column(p) for p in self.spec.parameters.values()}
        product = np.broadcast_to(np.asarray(self.get(("product", "")).data), self.rows).astype(np.int8)
        return CallTable(self.spec.api, self.spec.kinds, product, columns)

    def column(self, parameter: Parameter) -> Column:
        name = parameter.name

        def column(what: Any) -> np.ndarray:
            return np.broadcast_to(np.asarray(self.get((name, what)).data), self.rows)

        if not parameter.is_tensor and not parameter.is_array:
            values = column("")
            return ScalarColumn(values.astype(bool) if parameter.kind == "bool" else values.astype(np.int64))
        null = column("null").astype(bool)
        if parameter.is_array:
            length, values = self.slots(parameter)
            inside = (np.arange(values.shape[1]) < length[:, None]) & ~null[:, None]
            return ArrayColumn(null, np.where(null, 0, length), np.where(inside, values, 0).astype(values.dtype))
        rank, extents = self.get((name, "shape")).data
        rank = np.where(null, 0, np.broadcast_to(rank, self.rows))
        extents = np.where(np.arange(extents.shape[1]) < rank[:, None], np.broadcast_to(extents, (self.rows, extents.shape[1])), 1)
        laid = strides.lay_out(rank, extents, np.where(null, 0, column("view")))
        undefined = words().index["dtype"]["UNDEFINED"], words().index["format"]["UNDEFINED"]
        return TensorColumn(
            null=null,
            dtype=np.where(null, undefined[0], column("dtype")).astype(np.int16),
            format=np.where(null, undefined[1], column("format")).astype(np.int16),
            rank=rank,
            shape=extents,
            strided=laid.strided,
            strides=laid.strides,
            offset=laid.offset,
            storage_rank=laid.storage_rank,
            storage=laid.storage,
        )


def kind_of(spec: Spec, reference: Reference) -> str:
    """The kind of a name that a plan may set: those of the spec, ``view``, ``values`` of an array, or a plan's own number."""
    name, what = reference
    if what == "view" or reference == ("view", ""):
        return "view"
    if what == "values":
        return "values"
    if reference in _SHARED.values():
        return {"rank": "int"}.get(name, name)
    return spec.scope.kind(reference) or "int"


def _definitions(spec: Spec) -> dict[Reference, list[tuple[Rule, str]]]:
    """Reference -> the rules that say what it is, equalities first; kept with the spec."""
    found: dict[Reference, list[tuple[Rule, str]]] | None = spec.__dict__.get("_definitions")
    if found is None:
        found = {}
        for rule in spec.rules:
            for guard in rule.guards:
                left = guard.require.left.refs
                if guard.require.operator in ("==", "in") and len(left) == 1 and guard.require.bare:
                    known = found.setdefault(left[0], [])
                    if (rule, guard.require.operator) not in known:
                        known.append((rule, guard.require.operator))
        spec.__dict__["_definitions"] = found
    return found
