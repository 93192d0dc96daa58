"""How large the tensors of calls are, how they lie in memory, and which calls cannot be held."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.calls import bigint
from opgen.calls.columns import ScalarColumn, TensorColumn, TypedColumn
from opgen.calls.kinds import KINDS, members
from opgen.calls.table import CallTable
from opgen.calls.typed import TYPES
from opgen.calls.vocabulary import vocabulary

_COUNTED = 2**22
"""Views of more elements are not looked at one by one."""


def elements(table: CallTable) -> np.ndarray:
    """(rows,) float64: elements of all tensors of a call; of a view those of its storage, where
    these are more.
    """
    total = np.zeros(len(table))
    for column in table.tensors.values():
        held = np.abs(volume(column.shape))
        if not column.plain().all():
            held = np.maximum(held, storage_elements(column))
        total += np.where(column.null, 0.0, held)
    return total


def storage_elements(column: TensorColumn) -> np.ndarray:
    """(rows,) float64: elements of the storage, of the extents that are given, or up to the last
    one of the view.
    """
    if column.plain().all():
        held = volume(column.shape)
    else:
        last = address_range(column)[1]
        held = np.where(column.storage_rank >= 0, volume(column.storage), last + 1)
    return np.asarray(np.maximum(held, 0.0))


def storage_numel(column: TensorColumn) -> np.ndarray:
    """(rows,) the product of the extents of the storage, exact; where none are given, of those of
    the view, or of one axis up to its last element.
    """
    plain = column.plain()
    if plain.all():
        return column.numel()
    given = column.storage_rank >= 0
    held = np.where(given, bigint.product_along(column.storage), column.numel())
    return np.where(plain | given, held, np.minimum(storage_elements(column), 2.0**62).astype(int))


def contiguous(column: TensorColumn) -> np.ndarray:
    """(rows,) bool: each element follows the one before it. The strides of an axis of extent 1 say
    nothing, nor do those of an empty view.
    """
    if not column.strided.any():
        return ~column.strided
    shape = column.shape.astype(np.float64)
    strides, steps = np.zeros(shape.shape), np.ones(shape.shape)
    strides[:, : column.strides.shape[1]] = column.strides
    steps[:, :-1] = np.cumprod(shape[:, :0:-1], axis=1)[:, ::-1]
    in_order = ((shape == 1) | (strides == steps)).all(axis=1)
    return np.asarray(~column.strided | in_order | (shape == 0).any(axis=1))


def address_range(column: TensorColumn) -> tuple[np.ndarray, np.ndarray]:
    """(rows,) float64 each: the lowest and the highest position of a view in its storage; below the
    offset for an empty one.
    """
    shape, offset = column.shape.astype(np.float64), column.offset.astype(np.float64)
    strides = np.zeros(shape.shape)
    strides[:, : column.strides.shape[1]] = column.strides
    steps, size = (shape - 1) * strides, volume(column.shape)
    stepping = column.strided & (size != 0)
    first = np.where(stepping, offset + np.minimum(steps, 0).sum(axis=1), offset)
    return first, np.where(stepping, offset + np.maximum(steps, 0).sum(axis=1), offset + size - 1)


def within_storage(column: TensorColumn) -> np.ndarray:
    """(rows,) bool: no element of the view lies before or beyond the storage; an empty view always
    fits.
    """
    plain = column.plain()
    if plain.all():
        return plain
    first, last = address_range(column)
    held = np.where(column.storage_rank >= 0, volume(column.storage), np.inf)
    return np.asarray(plain | (column.shape == 0).any(axis=1) | ((first >= 0) & (last < held)))


def self_overlapping(column: TensorColumn) -> np.ndarray:
    """(rows,) bool: two elements of the view share a place, as those of an axis with stride 0
    do.
    """
    result = np.zeros(len(column.null), dtype=bool)
    rows = np.flatnonzero(column.strided & ~column.null & (column.shape > 0).all(axis=1))
    shape = column.shape[rows].astype(np.float64)
    strides = np.zeros(shape.shape)
    strides[:, : column.strides.shape[1]] = np.abs(column.strides[rows].astype(np.float64))
    order = np.argsort(np.where(shape > 1, strides, -1.0), axis=1)
    shape, strides = (
        np.take_along_axis(shape, order, axis=1),
        np.take_along_axis(strides, order, axis=1),
    )
    spans = (shape - 1) * strides
    nested = ((shape == 1) | (strides > np.cumsum(spans, axis=1) - spans)).all(
        axis=1
    )  # an axis steps over all shorter ones
    for i in np.flatnonzero(~nested).tolist():
        result[rows[i]] = _shared(shape[i], strides[i])
    return result


def _shared(shape: np.ndarray, strides: np.ndarray) -> bool:
    """Whether a view that is not nested has fewer places than elements; larger ones are taken
    to.
    """
    size = shape.prod()
    if size > min(((shape - 1) * strides).sum() + 1, _COUNTED):
        return True
    places = np.zeros(1)
    for extent, stride in zip(shape.tolist(), strides.tolist(), strict=True):
        places = (places[:, None] + np.arange(extent) * stride).reshape(-1)
    return len(np.unique(places)) < int(size)


def volume(extents: np.ndarray) -> np.ndarray:
    """(rows,) float64: of each row's extents, infinite where it is too large."""
    axes = np.ascontiguousarray(extents.T, dtype=np.float64)  # few axes, many rows
    with np.errstate(over="ignore", invalid="ignore"):  # Inf times 0 is taken care of
        return np.where((axes == 0).any(axis=0), 0.0, axes.prod(axis=0))


def representable(table: CallTable) -> np.ndarray:
    """(rows,) bool: every number of a call fits the type in which calls are made and kept; strides
    of huge views may not, nor an edited number of a small type. No list is longer than those that
    are read.
    """
    result = np.ones(len(table), dtype=bool)
    for name, column in table.columns.items():
        kind = KINDS[table.kinds[name]]
        if isinstance(column, ScalarColumn) and kind.element.term == "int":
            highest = len(members(table.kinds, name)) or kind.element.highest
            within = (column.values >= kind.element.lowest) & (column.values <= highest)
            result &= within.astype(bool)
            continue
        if isinstance(column, TypedColumn):
            result &= column.null | np.isin(vocabulary().names["dtype"], [*TYPES])[column.dtype]
        for part in vars(column).values():
            if part.dtype == object:
                result &= bigint.fits(part).all(axis=tuple(range(1, part.ndim)))
    return result


def non_negative(table: CallTable, wanted: Mapping[str, np.ndarray]) -> np.ndarray:
    """(rows,) bool: no extent of a tensor is negative; of those in ``wanted`` only where that says
    so. Pages that are silent about such tensors do not make them possible.
    """
    result = np.ones(len(table), dtype=bool)
    for name, column in table.tensors.items():
        counted = (column.shape >= 0).all(axis=1)
        result &= (counted | ~wanted[name]) if name in wanted else counted
    return result
