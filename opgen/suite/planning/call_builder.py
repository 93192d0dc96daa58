"""Calls in the making: what is chosen, what follows from it, and the table that comes of both.

A builder reads names like a table does, but from a plan: an edit first, then an axis, then a
``let``, then the list or the shape that it is part of and that was chosen whole, then the page's
own equalities (``Hout == pooled(...)`` also says what Hout is), then defaults. It never says
whether a call is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import TypeAlias

import numpy as np

from opgen.calls import bigint, typed
from opgen.calls.columns import Column
from opgen.calls.kinds import KINDS
from opgen.calls.table import CallTable
from opgen.spec.language.term import Reference, Term
from opgen.spec.language.value import Value
from opgen.spec.rules import Guard
from opgen.spec.spec import Spec
from opgen.suite.planning.call_columns import column
from opgen.suite.planning.derive import cut_out, derived
from opgen.suite.planning.edits import FREEZE, HOLD
from opgen.suite.planning.overlay import SHARED, Overlay, flat

AxisColumn: TypeAlias = "Value | Callable[[CallBuilder], Value]"
"""What an axis sets: a column, or what reads one off a builder where its values are terms."""
Lets: TypeAlias = Mapping[Reference, tuple[tuple[Term | None, Term], ...]]
"""What a plan says of names that no axis sets: (condition or ``None``, term), the first that
holds."""
NOTHING = Overlay()
UNASKED = Value(np.asarray(0), np.asarray(False))
_DEFAULTS: Mapping[str, float | str] = {
    "int": 1,
    "double": 1.0,
    "float": 1.0,
    "string": "",
    "bool": False,
    "dtype": 0,
    "format": 0,
    "product": 0,
    "view": 0,
}


class CallBuilder:
    """``rows`` calls of one spec. ``chosen`` are whole columns, ``lets`` a plan's terms, ``edits``
    what is changed in earlier calls.
    """

    def __init__(
        self,
        spec: Spec,
        rows: int,
        chosen: Mapping[Reference, AxisColumn],
        lets: Lets,
        edits: Overlay = NOTHING,
    ) -> None:
        self.spec = spec
        self.rows = rows
        self.chosen = chosen
        self.lets = lets
        self.edits = edits
        self.known: dict[Reference, Value] = {}
        self.reads: dict[Reference, frozenset[Reference]] = {}
        self.open: list[set[Reference]] = [set()]
        self.busy: set[Reference] = set()

    def get(self, reference: Reference) -> Value:
        """A column; as a side effect notes which chosen columns, and which defaults, it was
        computed from.
        """
        value = self.known.get(reference)
        if value is None:
            if reference in self.busy:
                return Value(self.fallback(reference).data, np.zeros(self.rows, dtype=bool))
            self.busy.add(reference)
            self.open.append(set())
            value = self.known[reference] = self.resolve(reference)
            self.busy.discard(reference)
            self.reads[reference] = frozenset(self.open.pop())
        self.open[-1] |= self.reads[reference]
        return value

    def depends(self, reads: Callable[[CallBuilder], object]) -> frozenset[Reference]:
        """The chosen columns that a function of this builder reads, and the names that nothing
        sets.
        """
        self.open.append(set())
        reads(self)
        return frozenset(self.open.pop())

    def given(self, reference: Reference) -> bool:
        """Whether a plan says what a reference is."""
        return reference in self.chosen or reference in self.lets

    def resolve(self, reference: Reference) -> Value:
        if reference[1] in ("least", "greatest"):  # nobody asks for data but an edit
            return self.edits.columns.get(reference, UNASKED)
        result: Value | None = None
        for layer in self.layers(reference):
            result = layer if result is None else self.stack(result, layer)
            if np.all(result.bound):
                break
        if result is None or not np.all(result.bound):
            fallback = self.fallback(reference)
            self.open[-1].add(reference)
            result = fallback if result is None else self.stack(result, fallback)
        result = self.held(reference, Value(result.data, True))
        return (
            self.with_edited_extents(reference[0], result)
            if reference[1] == "shape" and self.edits.columns
            else result
        )

    def held(self, reference: Reference, value: Value) -> Value:
        """What a name is; a scalar as its dtype holds it."""
        parameter = self.spec.parameters.get(reference[0])
        if reference[1] or parameter is None or KINDS[parameter.kind].family != "typed":
            return value
        values = np.broadcast_to(np.asarray(value.data), self.rows)
        return Value(typed.rounded(values, flat(self, parameter.name, "dtype")), value.bound)

    def with_edited_extents(self, name: str, value: Value) -> Value:
        """Single extents that are edited, on top of a whole shape."""
        rank, extents = value.data
        extents = np.broadcast_to(extents, (self.rows, extents.shape[-1])).copy()
        every = np.arange(extents.shape[1])
        for (whose, what), edit in self.edits.columns.items():
            if whose == name and isinstance(what, tuple):
                place = rank + what[1] if what[1] < 0 else np.full(self.rows, what[1])
                here = (every == place[:, None]) & (edit.bound & (place < rank))[:, None]
                extents = np.where(here, edit.data[:, None], extents)
        return Value((rank, extents), value.bound)

    def layers(self, reference: Reference) -> Iterator[Value]:
        """Everything that says what a reference is, the strongest first."""
        name, what = reference
        parameter = self.spec.parameters.get(name)
        yield from self.edits.of(reference, self.spec, self)
        yield from self.edits.earlier(reference, FREEZE)
        if reference in self.chosen:
            self.open[-1].add(reference)
            choice = self.chosen[reference]
            yield choice(self) if callable(choice) else choice
            return
        for when, term in self.lets.get(reference, ()):
            yield from (self.guarded(when, value) for value in self.edits.earlier(reference, HOLD))
            yield self.guarded(when, term.value(self))
        yield from cut_out(self, reference)
        yield from self.defined(self.spec.equalities.get(reference, ()))
        if parameter is not None:
            yield from derived(self, parameter, what)
        yield from self.defined(self.spec.memberships.get(reference, ()), longest=what == "len")
        if what == "len" and parameter is not None and parameter.items:
            yield Value(np.asarray(max(parameter.items)))
        yield from self.edits.earlier(reference)

    def defined(self, guards: Iterable[Guard], longest: bool = False) -> Iterator[Value]:
        """What relations ``reference == term`` or ``reference in (term, ...)`` say that it is: the
        first term, or the largest.
        """
        for guard in guards:
            terms = [term.value(self) for term in guard.require.right[: None if longest else 1]]
            data = (
                np.max(np.broadcast_arrays(*[term.data for term in terms]), axis=0)
                if longest
                else terms[0].data
            )
            yield self.guarded(
                guard.when, Value(data, reduce(np.logical_and, [term.bound for term in terms]))
            )

    def guarded(self, when: Term | None, value: Value) -> Value:
        if when is None:
            return value
        asked = when.read(self)
        return Value(value.data, asked.data & asked.bound & value.bound)

    def stack(self, over: Value, under: Value) -> Value:
        """``over`` where it is bound, else ``under``."""
        here = np.broadcast_to(np.asarray(over.bound), self.rows)
        if not isinstance(over.data, tuple):
            return Value(np.where(here, over.data, under.data), here | under.bound)
        rank = np.where(here, over.data[0], under.data[0])
        width = max(over.data[1].shape[-1], under.data[1].shape[-1])
        a, b = (
            bigint.widened(np.broadcast_to(m, (self.rows, m.shape[-1])), width)
            for m in (over.data[1], under.data[1])
        )
        return Value((rank, np.where(here[:, None], a, b)), here | under.bound)

    def fallback(self, reference: Reference) -> Value:
        kind = kind_of(self.spec, reference)
        if kind in ("shape", "values"):
            return Value(
                (np.zeros(self.rows, dtype=np.int64), np.ones((self.rows, 1), dtype=np.int64))
            )
        return Value(np.full(self.rows, _DEFAULTS[kind]))

    # the table ------------------------------------------------------------------------------------
    def table(self) -> CallTable:
        """Every row as a call, whether legal or not."""
        columns: dict[str, Column] = {
            p.name: column(self, p) for p in self.spec.parameters.values()
        }
        return CallTable(
            self.spec.api, self.spec.kinds, flat(self, "product", "").astype(np.int8), columns
        )


def kind_of(spec: Spec, reference: Reference) -> str:
    """The kind of a name that a plan may set: those of the spec, ``view``, ``values`` of an array,
    or a plan's own number.
    """
    name, what = reference
    if what == "view" or reference == ("view", ""):
        return "view"
    if what == "values":
        return "values"
    if reference in SHARED.values():
        return {"rank": "int"}.get(name, name)
    return spec.scope.kind(reference) or "int"
