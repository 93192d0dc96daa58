"""A call taken apart into the choices that it follows from, and put together again.

Choices are letters, scalars, dtypes, views and masks; what the page's own equalities define is left
to them, so that an output's extents follow from a smaller input's. Nothing here says whether a call
is legal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np

from opgen.calls.table import CallTable, concatenate, from_calls
from opgen.model import Call, TensorDesc, row_major
from opgen.spec.binding import TableView
from opgen.spec.language.formulas import Value
from opgen.spec.language.terms import Reference, Term
from opgen.spec.spec import Spec
from opgen.suite.planning.draft import Choice, Draft
from opgen.suite.planning.strides import VIEWS, lay_out

Chosen: TypeAlias = dict[Reference, Any]
"""Reference -> an int, a bool, a tuple (a whole shape or array), or a :class:`Flat`."""


@dataclass(frozen=True)
class Flat:
    """A shape of one axis, as long as a rule says that the tensor has elements."""

    elements: Term

    def __call__(self, draft: Draft) -> Value:
        count = np.broadcast_to(np.asarray(self.elements.read(draft).data), draft.rows)
        return Value((np.ones(draft.rows, dtype=np.int64), count[:, None].astype(np.int64)))


@dataclass(frozen=True)
class Point:
    """A call and the choices that it follows from."""

    spec: Spec
    call: Call
    chosen: Chosen

    @cached_property
    def cost(self) -> int:
        """How complicated the call is; elements count most."""
        return complexity(self.call)


def complexity(call: Call) -> int:
    """A number that is smaller for a simpler call: elements first, then views, dtypes, masks and
    the size of numbers.
    """
    total = 0
    for value in call.args.values():
        if isinstance(value, TensorDesc):
            total += (
                8 * abs(prod(value.storage_extents))
                + 16 * (not value.plain)
                + 2 * (value.dtype != "FLOAT")
                + len(value.shape)
            )
        elif isinstance(value, tuple):
            total += sum(4 if item is True else abs(int(item)) for item in value)
        elif value is not None:
            total += abs(int(value))
    return total


# a call taken apart -------------------------------------------------------------------------------
def point_of(spec: Spec, call: Call, view: int = 0) -> Point:
    """Take a call apart. Extents that contradict each other are chosen whole; strides that are no
    named view become ``view`` (a position in :data:`opgen.suite.planning.strides.VIEWS`), so the
    point's call may be another one.
    """
    table = from_calls(spec.api, spec.kinds, [call])
    chosen = dict(_attributes(spec, table, view))
    made = assemble(spec, [chosen])[0]
    for parameter in spec.parameters.values():
        if parameter.is_tensor or parameter.is_array:
            given, got = call.args[parameter.name], made.args[parameter.name]
            if (
                isinstance(given, TensorDesc)
                and isinstance(got, TensorDesc)
                and given.shape != got.shape
            ):
                chosen[parameter.name, "shape"] = given.shape
            elif isinstance(given, tuple) and given != got:
                chosen[parameter.name, "values"] = given
    made = assemble(spec, [chosen])[0]
    for reference in _defined(spec):
        fewer = {key: value for key, value in chosen.items() if key != reference}
        if reference in chosen and assemble(spec, [fewer])[0] == made:
            chosen = fewer
    return Point(spec, made, chosen)


def _attributes(spec: Spec, table: CallTable, unnamed: int) -> Iterator[tuple[Reference, Any]]:
    view = TableView(spec, table)

    def read(reference: Reference) -> Any:
        return np.broadcast_to(np.asarray(view.get(reference).data), 1)[0].item()

    yield ("product", ""), read(("product", ""))
    for name in spec.scope.occurrences:
        if np.broadcast_to(np.asarray(view.get((name, "")).bound), 1)[0]:
            yield (name, ""), read((name, ""))
    call = table.call(0)
    for parameter in spec.parameters.values():
        name, value = parameter.name, call.args[parameter.name]
        if not parameter.is_tensor and not parameter.is_array:
            yield (name, ""), value
            continue
        yield (name, "null"), value is None
        if isinstance(value, TensorDesc):
            yield from (((name, what), read((name, what))) for what in ("dtype", "format"))
            yield (name, "view"), _view(value, unnamed)
            yield (
                ((name, "rank"), len(value.shape))
                if len(value.shape) in parameter.shapes
                else ((name, "shape"), value.shape)
            )
        elif isinstance(value, tuple):
            yield (name, "len"), len(value)
            if len(value) not in parameter.items:
                yield (name, "values"), value


def _view(desc: TensorDesc, unnamed: int) -> int:
    """The named view that a tensor is."""
    if desc.offset == 0 and desc.steps == row_major(desc.shape):
        return 0
    rank, shape = np.array([len(desc.shape)]), np.array([desc.shape or (1,)])
    for number in range(1, len(VIEWS)):
        lain = lay_out(rank, shape, np.array([number]))
        if (
            lain.strided[0]
            and tuple(lain.strides[0, : rank[0]].tolist()) == desc.strides
            and int(lain.offset[0]) == desc.offset
        ):
            return number
    return unnamed


def _defined(spec: Spec) -> list[Reference]:
    """What the page's equalities may define, and formats, which follow from ranks."""
    return list(
        dict.fromkeys(
            [
                *((p.name, "format") for p in spec.parameters.values() if p.is_tensor),
                *spec.equalities,
            ]
        )
    )


# and put together again ---------------------------------------------------------------------------
def assemble(spec: Spec, points: list[Chosen]) -> list[Call]:
    """The calls that follow from choices."""
    groups: dict[tuple[tuple[Reference, Any], ...], list[int]] = {}
    for i, chosen in enumerate(points):
        key = tuple(
            (ref, value if isinstance(value, Flat) else None) for ref, value in chosen.items()
        )
        groups.setdefault(key, []).append(i)
    tables, order = [], []
    for rows in groups.values():
        columns: dict[Reference, Choice] = {
            ref: _column([points[i][ref] for i in rows]) for ref in points[rows[0]]
        }
        tables.append(Draft(spec, len(rows), columns, {}).table())
        order += rows
    calls = concatenate(tables).calls()
    return [calls[place] for place in np.argsort(order)]


def _column(values: list[Any]) -> Choice:
    if isinstance(values[0], Flat):
        return values[0]
    if isinstance(values[0], tuple):
        width = max(1, *(len(v) for v in values))
        matrix = np.array([[*v, *[1] * (width - len(v))] for v in values]).reshape(
            len(values), width
        )
        return Value((np.array([len(v) for v in values]), matrix))
    return Value(np.array(values))
