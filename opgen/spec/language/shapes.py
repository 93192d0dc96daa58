"""Shapes as terms, on whole columns: parts of them, shapes made of shapes, and how they broadcast.

The data of a shape are the pair (rank, extents): ranks (rows,) or (), extents (rows, width) or (1,
width); what stands beyond a row's rank means nothing. An array of numbers is a shape too. What
reaches beyond a shape is unbound.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from opgen.calls import bigint
from opgen.spec.language.functions import Function
from opgen.spec.language.value import Value, all_bound

MOST_AXES = 64
"""A repeated shape of more axes is none."""


def axis(shape: Value, index: Value) -> Value:
    """One extent, a negative index from the end."""
    place = _counted(shape, index)
    extent = _extents(shape.data, _column(place.data))[:, 0]
    return Value(extent, all_bound(shape, place) & (place.data >= 0) & (place.data < _rank(shape)))


def cut(shape: Value, start: Value, stop: Value, backward: tuple[bool, bool]) -> Value:
    """The extents from one end to another, as Python slices; an end that counts ``backward`` is so
    many axes before the last (none: -0 is the end), one beyond the shape is unbound.
    """
    rank = _rank(shape)
    low, high = (
        _before(shape, end) if back else _counted(shape, end)
        for end, back in zip((start, stop), backward, strict=True)
    )
    places = _column(low.data) + np.arange(_width(shape))
    inside = (low.data >= 0) & (low.data <= rank) & (high.data >= 0) & (high.data <= rank)
    last = np.clip(high.data, 0, _width(shape)).astype(np.int64)
    held = np.clip(np.maximum(high.data - low.data, 0), 0, _width(shape)).astype(np.int64)
    return Value(
        (held, _extents((last, shape.data[1]), places)), all_bound(shape, low, high) & inside
    )


def without(shape: Value, index: Value) -> Value:
    """All axes but one, a negative index from the end."""
    place, rank = _counted(shape, index), _rank(shape)
    every = np.arange(_width(shape))
    inside = (place.data >= 0) & (place.data < rank)
    data = rank - 1, _extents(shape.data, every + (every >= _column(place.data)))
    return Value(data, all_bound(shape, place) & inside)


def joined(a: Value, b: Value) -> Value:
    """The axes of both, one after the other."""
    first, wide = _rank(a), _width(a)
    rows = np.broadcast_shapes(a.data[1].shape[:1], b.data[1].shape[:1])
    both = [np.broadcast_to(x.data[1], (*rows, _width(x))) for x in (a, b)]
    every = np.arange(wide + _width(b))
    places = np.where(every < _column(first), every, wide + every - _column(first))
    return Value(
        (first + _rank(b), _extents((wide + _rank(b), np.hstack(both)), places)), all_bound(a, b)
    )


def repeated(shape: Value, times: Value) -> Value:
    """The axes of a shape so many times, none if less than once."""
    rank = _rank(shape)
    size = np.maximum(bigint.multiply(np.asarray(rank), times.data), 0)
    held = np.minimum(size, MOST_AXES).astype(np.int64)
    places = np.arange(max(1, int(held.max(initial=0)))) % np.maximum(_column(rank), 1)
    return Value((held, _extents(shape.data, places)), all_bound(shape, times) & (size == held))


def product(shape: Value) -> Value:
    """The product of all extents, exact; 1 of none."""
    extents = _extents(shape.data, _column(0) + np.arange(_width(shape)))
    return Value(bigint.product_along(extents), shape.bound)


def total(shape: Value) -> Value:
    """The sum of all extents, exact; 0 of none."""
    every = np.arange(_width(shape))
    extents = np.where(every < _column(_rank(shape)), shape.data[1], 0)
    return Value(reduce(bigint.add, extents.T), shape.bound)


def broadcast(*shapes: Value) -> Value:
    """The shape that all of them have together, as numpy broadcasts them; unbound where there is
    none.
    """
    return reduce(_pair, shapes)


def broadcastable(*shapes: Value) -> Value:
    """Whether there is such a shape."""
    known = all_bound(*shapes)
    return Value(np.asarray(broadcast(*shapes).bound | ~np.asarray(known)), known)


def _pair(a: Value, b: Value) -> Value:
    width = max(_width(a), _width(b))
    x, y = (_extents(v.data, np.arange(width) - width + _column(_rank(v))) for v in (a, b))
    fit = ((x == y) | (x == 1) | (y == 1)).all(axis=1)
    rank = np.maximum(_rank(a), _rank(b))
    whole = np.where(x == 1, y, x)
    data = rank, _extents((width, whole), np.arange(width) + width - _column(rank))
    return Value(data, all_bound(a, b) & fit)


def tuple_of(*values: Value) -> Value:
    """The shape that some numbers are."""
    rows = max(np.broadcast_shapes(*(np.shape(v.data) for v in values)), default=1)
    exact = any(v.data.dtype == object for v in values)
    extents = np.ones((rows, max(1, len(values))), dtype=object if exact else np.int64)
    for i, value in enumerate(values):
        extents[:, i] = value.data
    return Value((np.asarray(len(values)), extents), all_bound(*values))


def _rank(shape: Value) -> Any:
    return shape.data[0]


def _width(shape: Value) -> int:
    return int(shape.data[1].shape[-1])


def _column(numbers: Any) -> np.ndarray:
    """(rows, 1), or (1, 1) of a constant; places beyond every shape are as good as any there."""
    return np.asarray(np.clip(numbers, -(2**31), 2**31), dtype=np.int64).reshape(-1, 1)


def _counted(shape: Value, index: Value) -> Value:
    """An index from the start, of one that may be negative and count from the end."""
    from_end = bigint.add(index.data, np.asarray(_rank(shape)))
    return Value(np.where(index.data < 0, from_end, index.data), index.bound)


def _before(shape: Value, axes: Value) -> Value:
    return Value(bigint.subtract(np.asarray(_rank(shape)), axes.data), axes.bound)


def _extents(shape: tuple[Any, np.ndarray], places: np.ndarray) -> np.ndarray:
    """(rows, width) the extents of a shape at some places, (rows, width) or (1, width); 1 where it
    has none.
    """
    rank, extents = shape
    rows = np.broadcast_shapes(extents.shape[:1], places.shape[:1])
    here = np.broadcast_to(places, (*rows, places.shape[1]))
    every = np.broadcast_to(extents, (*rows, extents.shape[1]))
    taken = np.take_along_axis(every, np.clip(here, 0, extents.shape[1] - 1), axis=1)
    return np.where((here >= 0) & (here < _column(rank)), taken, 1)


FUNCTIONS: Mapping[str, Function] = {
    "broadcast": Function(broadcast, ("shape",), "shape", 2, 9),
    "broadcastable": Function(broadcastable, ("shape",), "bool", 2, 9),
    "without": Function(without, ("shape", "int"), "shape", 2, 2),
    "prod": Function(product, ("shape",), "int", 1, 1),
    "sum": Function(total, ("shape",), "int", 1, 1),
}
ARITHMETIC: Mapping[tuple[type[ast.operator], str, str], Callable[[Value, Value], Value]] = {
    (ast.Add, "shape", "shape"): joined,
    (ast.Mult, "shape", "int"): repeated,
}
"""What ``+`` and ``*`` say of shapes: what they say of Python's tuples."""
