"""A call as an assignment of values to what it follows from, and back.

Letters, scalars, dtypes, views and masks are assigned; what the page's own equalities define is
left to them, so that an output's extents follow from a smaller input's. Nothing here says whether a
call is legal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np

from opgen.calls import bigint
from opgen.calls.columns import TensorColumn
from opgen.calls.factorize import by_key
from opgen.calls.table import CallTable, from_calls
from opgen.model import AclScalar, Argument, Call, TensorDesc, row_major
from opgen.spec.language.term import Reference, Term
from opgen.spec.language.value import Value
from opgen.spec.parameter import Parameter
from opgen.spec.spec import Spec
from opgen.spec.table_view import TableView
from opgen.suite.planning.call_builder import AxisColumn, CallBuilder
from opgen.suite.planning.strides import view_of

Chosen: TypeAlias = Any
"""An int, a bool, a tuple (a whole shape or array), or a :class:`FlatShape`."""
Assignment: TypeAlias = dict[Reference, Chosen]


_SIMPLE = {1.0: 0, 0.0: 1, 0.5: 2}
"""Reals and how complicated they are."""


@dataclass(frozen=True)
class FlatShape:
    """A shape of one axis, as long as a rule says that the tensor has elements."""

    elements: Term

    def __call__(self, builder: CallBuilder) -> Value:
        count = np.broadcast_to(np.asarray(self.elements.read(builder).data), builder.rows)
        return Value((np.ones(builder.rows, dtype=np.int64), count[:, None].astype(np.int64)))


@dataclass(frozen=True)
class Candidate:
    """A call, and the assignment that it follows from."""

    spec: Spec
    call: Call
    chosen: Assignment

    @cached_property
    def cost(self) -> int:
        """How complicated the call is; elements count most."""
        return complexity(self.call)


def complexity(call: Call) -> int:
    """A number that is smaller for a simpler call: elements first (of a shape, or of a larger
    storage), then views, dtypes, masks and the size of numbers.
    """
    return sum(map(_complexity, call.args.values()))


def _complexity(value: Argument) -> int:
    if isinstance(value, TensorDesc):
        elements = 8 * max(abs(prod(extents)) for extents in (value.shape, value.storage_extents))
        return elements + 16 * (not value.plain) + 2 * (value.dtype != "FLOAT") + len(value.shape)
    if isinstance(value, tuple):
        return sum(4 if item is True else _complexity(item) for item in value)
    if isinstance(value, AclScalar):
        return _complexity(float(value.value)) + 2 * (value.dtype != "FLOAT")
    if isinstance(value, float):
        return _SIMPLE.get(value, 4)
    if isinstance(value, str):
        return 0
    return abs(int(value or 0))


# from a call to an assignment ---------------------------------------------------------------------
def candidate_of(spec: Spec, call: Call, view: int = 0) -> Candidate:
    """The assignment that a call follows from. Extents that contradict each other are assigned
    whole, but for a flat shape, which follows from them; strides that are no named view become
    ``view`` (a position in :data:`opgen.suite.planning.strides.VIEWS`), so that the candidate may
    be another call.
    """
    chosen = dict(_attributes(spec, from_calls(spec.api, spec.kinds, [call]), view))
    made = calls_of(spec, [chosen])[0]
    for name, given in call.args.items():
        other = made.args[name]
        if isinstance(given, TensorDesc) and isinstance(other, TensorDesc):
            if given.shape != other.shape:
                chosen[name, "shape"] = given.shape
        elif isinstance(given, tuple) and given != other:
            chosen[name, "values"] = given
    made = calls_of(spec, [chosen])[0]
    for reference in _defined(spec):
        fewer = {key: value for key, value in chosen.items() if key != reference}
        if reference in chosen and calls_of(spec, [fewer])[0] == made:
            chosen = fewer
    for parameter in spec.parameters.values():
        for flat in flat_shapes(spec, parameter):
            formula = {**chosen, (parameter.name, "shape"): flat}
            if (parameter.name, "shape") in chosen and calls_of(spec, [formula])[0] == made:
                chosen = formula
    return Candidate(spec, made, chosen)


def flat_shapes(spec: Spec, parameter: Parameter) -> list[FlatShape]:
    """A flat shape by the rule that says how many elements a tensor without letters has, if any."""
    if parameter.shapes:
        return []
    guards = spec.equalities.get((parameter.name, "numel"), ())
    return [FlatShape(guard.require.right[0]) for guard in guards if guard.when is None][:1]


def _attributes(spec: Spec, table: CallTable, unnamed: int) -> Iterator[tuple[Reference, Chosen]]:
    view = TableView(spec, table)

    def read(reference: Reference) -> tuple[Reference, Chosen]:
        return reference, np.broadcast_to(np.asarray(view.get(reference).data), 1)[0].item()

    yield read(("product", ""))
    yield from (
        read((name, ""))
        for name in spec.scope.occurrences
        if np.broadcast_to(np.asarray(view.get((name, "")).bound), 1)[0]
    )
    for name, value in table.call(0).args.items():
        parameter = spec.parameters[name]
        if not parameter.is_tensor and not parameter.is_array:
            if isinstance(value, AclScalar):
                yield read((name, "dtype"))
                yield (name, ""), float(value.value)
            elif value is not None:
                yield (name, "len" if parameter.is_list else ""), value
            if parameter.is_pointer:
                yield (name, "null"), value is None
            continue
        yield (name, "null"), value is None
        column = table.columns[name]
        if isinstance(value, TensorDesc) and isinstance(column, TensorColumn):
            yield read((name, "dtype"))
            yield read((name, "format"))
            yield (name, "view"), _view(value, column, unnamed)
            rank = len(value.shape)
            known = rank in parameter.shapes
            yield ((name, "rank"), rank) if known else ((name, "shape"), value.shape)
        elif isinstance(value, tuple):
            yield (name, "len"), len(value)
            if len(value) not in parameter.items:
                yield (name, "values"), value


def _view(desc: TensorDesc, column: TensorColumn, unnamed: int) -> int:
    """The named view that a tensor is, a contiguous one with strides included."""
    if desc.offset == 0 and desc.steps == row_major(desc.shape):
        return 0
    view = int(view_of(column)[0])
    return unnamed if view < 0 else view


def _defined(spec: Spec) -> list[Reference]:
    """What the page's equalities may define, and formats, which follow from ranks."""
    formats = [(p.name, "format") for p in spec.parameters.values() if p.is_tensor]
    return list(dict.fromkeys([*formats, *spec.equalities]))


# from assignments to calls ------------------------------------------------------------------------
def calls_of(spec: Spec, assignments: Sequence[Assignment]) -> list[Call]:
    """The calls that follow from assignments, in their order; those of the same references are made
    together.
    """

    def alike(chosen: Assignment) -> tuple[tuple[Reference, FlatShape | None], ...]:
        return tuple(
            (ref, value if isinstance(value, FlatShape) else None) for ref, value in chosen.items()
        )

    groups = by_key((alike(chosen), i) for i, chosen in enumerate(assignments))
    calls: dict[int, Call] = {}
    for key, rows in groups.items():
        columns = {ref: _column([assignments[i][ref] for i in rows]) for ref, _ in key}
        calls |= zip(rows, CallBuilder(spec, len(rows), columns, {}).table().calls(), strict=True)
    return [calls[i] for i in range(len(assignments))]


def _column(values: list[Chosen]) -> AxisColumn:
    if isinstance(values[0], FlatShape):
        return values[0]
    if isinstance(values[0], tuple):
        lengths = np.array([len(v) for v in values])
        width = max(1, *lengths)
        matrix = np.array([[*v, *[1] * (width - len(v))] for v in values])
        return Value((lengths, matrix.reshape(len(values), width)))
    whole = all(type(value) is int for value in values)
    return Value(bigint.as_column(values) if whole else np.array(values))
