"""What the attributes of a parameter are made of: a shape of letters, a length and items of slot
names, extremes of either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from opgen.calls import bigint
from opgen.calls.kinds import KINDS
from opgen.calls.vocabulary import vocabulary
from opgen.spec.language import shapes
from opgen.spec.language.term import Asked, Reference
from opgen.spec.language.value import Value, constant_value
from opgen.spec.parameter import Parameter
from opgen.spec.spec import Spec
from opgen.suite.planning.overlay import SHARED, Overlay, Rows, flat

MAX_ITEMS = 12
"""Items of the longest array that is made; a length that follows from a rank may lie beyond, or
below 0."""
_PARTS = ("len", "rank", "numel", "lowest", "highest")


class Source(Rows, Protocol):
    """Where names are read from: a builder."""

    @property
    def spec(self) -> Spec: ...
    @property
    def edits(self) -> Overlay: ...
    def given(self, reference: Reference) -> bool: ...


def cut_out(builder: Source, reference: Reference) -> Iterator[Value]:
    """What a list or a shape that was chosen whole says of its parts: items, extents, sizes and
    extremes, letters and slots.
    """
    name, what = reference
    parameter = builder.spec.parameters.get(name)
    if parameter is None:
        for place in builder.spec.scope.occurrences.get(name, ()) if what == "" else ():
            whole = place.parameter, _whole(builder.spec.parameters[place.parameter])
            if builder.given(whole):
                size, values = builder.get(whole).data
                column = (
                    values[:, place.index]
                    if place.index < values.shape[1]
                    else np.ones(1, dtype=np.int64)
                )
                there = (size == place.size) & ~np.asarray(
                    builder.get((place.parameter, "null")).data, dtype=bool
                )
                if place.format:
                    there = there & _laid_out(builder, place.parameter, place.format)
                yield Value(
                    np.broadcast_to(column, builder.rows), np.broadcast_to(there, builder.rows)
                )
    elif (what in _PARTS or isinstance(what, (int, tuple))) and builder.given(
        (name, _whole(parameter))
    ):
        yield from derived(builder, parameter, what)


def _whole(parameter: Parameter) -> str:
    return "values" if parameter.is_array else "shape"


def derived(builder: Source, parameter: Parameter, what: Asked) -> Iterator[Value]:
    """An attribute as it follows from letters, slots, shared compiled or other attributes."""
    if what == "null":
        yield Value(np.asarray(False))
    elif parameter.is_tensor:
        yield from _of_tensor(builder, parameter, what)
    elif parameter.is_array:
        yield from _of_array(builder, parameter, what)


def _of_tensor(builder: Source, parameter: Parameter, what: Asked) -> Iterator[Value]:
    name = parameter.name
    if what in SHARED and builder.given(SHARED[what]) and (what != "rank" or parameter.shapes):
        yield builder.get(SHARED[what])
    elif what == "shape":
        yield lettered(builder, parameter)
    elif what == "rank" and parameter.shapes and not builder.given((name, "shape")):
        yield Value(np.asarray(next(iter(parameter.shapes))))
    elif what == "rank" and _shaped(builder, name):
        yield Value(np.broadcast_to(builder.get((name, "shape")).data[0], builder.rows))
    elif what == "strided":
        yield Value(np.asarray(builder.get((name, "view")).data) != 0)
    elif what in ("numel", "lowest", "highest") or isinstance(what, tuple):
        rank, extents = builder.get((name, "shape")).data
        rank = np.broadcast_to(rank, builder.rows)
        if isinstance(what, tuple):
            extent = shapes.axis(Value((rank, extents)), constant_value(what[1]))
            yield Value(np.broadcast_to(extent.data, builder.rows), extent.bound)
        elif what == "numel":
            yield Value(np.broadcast_to(bigint.product_along(extents), builder.rows))
        else:
            yield Value(
                bigint.extreme(
                    np.broadcast_to(extents, (builder.rows, extents.shape[1])),
                    rank,
                    what == "lowest",
                ),
                rank > 0,
            )


def _shaped(builder: Source, name: str) -> bool:
    """Whether a shape says the rank: not where all that the page says of the shape asks for the
    rank first.
    """
    whole, rank = (name, "shape"), (name, "rank")
    equalities = builder.spec.equalities.get(whole, ())
    freely = any(e.when is None or rank not in e.when.refs for e in equalities)
    return freely or not equalities or builder.given(whole)


def lettered(builder: Source, parameter: Parameter) -> Value:
    """The shape that a parameter's letters give at its rank; unbound where the page knows no such
    rank.
    """
    width = max(parameter.shapes, default=0)
    rank = np.zeros(builder.rows, dtype=np.int64)
    bound = np.zeros(builder.rows, dtype=bool)
    extents = np.ones((builder.rows, max(width, 1)), dtype=np.int64)
    if not parameter.shapes:
        return Value((rank, extents), bound)
    wanted = np.broadcast_to(builder.get((parameter.name, "rank")).data, builder.rows)
    for size, layout, letters in parameter.layouts:
        here = wanted == size
        if layout:
            here = here & _laid_out(builder, parameter.name, layout)
        if builder.rows > 1 and not here.any():
            continue
        rank, bound = np.where(here, size, rank), bound | here
        for i, letter in enumerate(letters):
            column = letter if isinstance(letter, int) else builder.get((letter, "")).data
            if getattr(column, "dtype", None) == np.dtype(object):
                extents = extents.astype(object)
            extents[:, i] = np.where(here, column, extents[:, i])
    return Value((rank, extents), bound)


def _laid_out(builder: Source, name: str, layout: str) -> np.ndarray:
    """Where a tensor has a format."""
    return np.asarray(builder.get((name, "format")).data == vocabulary().index["format"][layout])


def _of_array(builder: Source, parameter: Parameter, what: Asked) -> Iterator[Value]:
    name = parameter.name
    if what == "values":
        yield Value(slots(builder, parameter))
    elif what == "len":
        if _told(builder, name, besides=(name, "len")):
            length, _ = builder.get((name, "values")).data
            yield Value(length)
    elif what in ("lowest", "highest"):
        length, values = slots(builder, parameter)
        yield Value(bigint.extreme(values, length, what == "lowest"), length > 0)
    elif isinstance(what, int):
        length, values = slots(builder, parameter)
        yield Value(
            values[:, what] if what < values.shape[1] else np.zeros(builder.rows, values.dtype),
            length > what,
        )


def _told(builder: Source, name: str, besides: Reference | None = None) -> bool:
    """Whether a plan, or an equality of the page that does not read ``besides``, says what an array
    is.
    """
    whole = (name, "values")
    equalities = builder.spec.equalities.get(whole, ())
    return builder.given(whole) or any(besides not in e.require.refs for e in equalities)


def slots(builder: Source, parameter: Parameter) -> tuple[np.ndarray, np.ndarray]:
    """(length, values) of an array: its items by name, or the list that was chosen whole; edited
    items on top.
    """
    name = parameter.name
    length = np.clip(flat(builder, name, "len"), 0, MAX_ITEMS)
    width = max(int(length.max(initial=0)), 1)
    element = KINDS[parameter.kind].element
    values: np.ndarray = np.full(
        (builder.rows, width), name in builder.spec.masks, dtype=element.dtype
    )  # every output is asked for
    if _told(builder, name):
        whole = builder.get((name, "values"))
        given = np.broadcast_to(whole.data[1], (builder.rows, whole.data[1].shape[-1]))[:, :width]
        values[:, : given.shape[1]] = given
    else:
        for size, names in parameter.items.items():
            here = length == size
            for i, slot in enumerate(names[:width]):
                if builder.rows == 1 or here.any():
                    values[:, i] = np.where(here, builder.get((slot[0], "")).data, values[:, i])
        _fill_unknown(builder, parameter, length, values)
    for i in range(width):
        item = builder.edits.columns.get((name, i))
        if item is not None:
            values[:, i] = np.where(item.bound, item.data, values[:, i])
    return length, values


def _fill_unknown(
    builder: Source, parameter: Parameter, length: np.ndarray, values: np.ndarray
) -> None:
    """Items of arrays of a length that the page does not know: those of the longest it knows, the
    last one repeated.
    """
    known = np.isin(length, list(parameter.items))
    longest = parameter.items.get(max(parameter.items, default=0), ())
    if known.all() or not longest:
        return
    for i in range(values.shape[1]):
        filler = builder.get((longest[min(i, len(longest) - 1)][0], "")).data
        values[:, i] = np.where(~known & (i < length), filler, values[:, i])
