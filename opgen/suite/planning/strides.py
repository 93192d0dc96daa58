"""How a tensor lies in its storage: the views that a vendor's page calls non-contiguous.

A view is a word; :func:`lay_out` gives strides, offset and storage extents of whole columns of
shapes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opgen.calls import bigint
from opgen.calls.columns import TensorColumn

VIEWS = (
    "contiguous",
    "transposed",
    "sliced",
    "stepped",
    "offset",
    "expanded",
    "expanded_last",
    "expanded_scalar",
)
"""contiguous; last two axes swapped in storage; a window inside larger last two axes, with an
offset; every second element of the last axis; one piece, behind one more row of the first axis. Of
stride 0: one element for the whole tensor, in as many axes; along the last axis alone; one element
in one axis."""
EXPANDED = VIEWS[5:]
"""The views of which several elements share a place: an output cannot lie so."""
SHARING = tuple(VIEWS.index(view) for view in EXPANDED)
LEAST = (0, 2, 2, 1, 1, 1, 2, 2)
"""The rank that each view needs at least; a tensor of a lower one lies contiguous."""
_HUGE = 2**60
"""An extent from which on the storage of a view may not fit int64."""


@dataclass(frozen=True)
class StridedColumns:
    """The columns of :class:`opgen.calls.columns.TensorColumn` that say how tensors lie."""

    strided: np.ndarray
    strides: np.ndarray
    offset: np.ndarray
    storage_rank: np.ndarray
    storage: np.ndarray


def lay_out(rank: np.ndarray, shape: np.ndarray, view: np.ndarray) -> StridedColumns:
    """Columns for ``view`` (positions in :data:`VIEWS`); a rank too low for a view, or an extent
    below 1, is contiguous.
    """
    rows, width = shape.shape
    lowest = shape.min(axis=1) if width else np.ones(rows, dtype=np.int64)
    view = np.where((rank >= np.array(LEAST)[view]) & (lowest >= 1), view, 0)
    strided = view != 0
    if not strided.any():
        zero = np.zeros((rows, 1), dtype=np.int64)
        return StridedColumns(
            strided, zero, np.zeros(rows, dtype=np.int64), np.full(rows, -1), zero + 1
        )
    last, before = np.maximum(rank - 1, 0), np.maximum(rank - 2, 0)
    row = np.arange(rows)
    swapped, sliced, stepped, piece, whole, along, scalar = (
        view == number for number in range(1, len(VIEWS))
    )
    storage = shape.astype(object if bigint.extremes(shape)[1] > _HUGE else shape.dtype)
    storage[row[swapped], last[swapped]] = shape[row[swapped], before[swapped]]
    storage[row[swapped], before[swapped]] = shape[row[swapped], last[swapped]]
    storage[row[sliced], last[sliced]] += 3
    storage[row[sliced], before[sliced]] += 2
    storage[row[stepped], last[stepped]] *= 2
    storage[row[piece], 0] += 1
    storage[row[along], last[along]] = 1
    storage[whole | scalar] = 1
    inner = _row_major(storage)
    strides = inner.copy()
    strides[row[swapped], last[swapped]] = inner[row[swapped], before[swapped]]
    strides[row[swapped], before[swapped]] = inner[row[swapped], last[swapped]]
    strides[row[stepped], last[stepped]] = 2
    strides[row[along], last[along]] = 0
    strides[whole | scalar] = 0
    offset = np.where(sliced, inner[row, before] + 1, np.where(piece, inner[:, 0], 0))
    inside = (np.arange(width) < rank[:, None]) & strided[:, None]
    strides, offset, storage = (
        bigint.narrowed(a)
        for a in (np.where(inside, strides, 0), offset, np.where(inside, storage, 1))
    )
    storage_rank = np.where(scalar, 1, np.where(strided, rank, -1))
    return StridedColumns(strided, strides, offset, storage_rank, storage)


def view_of(column: TensorColumn) -> np.ndarray:
    """(rows,) int: which of :data:`VIEWS` the tensors of a column lie like; -1 for a layout that is
    none of them.
    """
    result = np.where(column.strided, -1, 0)
    for number in range(1, len(VIEWS)):
        laid = lay_out(column.rank, column.shape, np.full(len(column.rank), number))
        width = min(laid.strides.shape[1], column.strides.shape[1])
        inside = np.arange(width) < column.rank[:, None]
        same = ((laid.strides[:, :width] == column.strides[:, :width]) | ~inside).all(axis=1)
        same &= column.strided & laid.strided & (laid.offset == column.offset)
        exact = laid.storage_rank == column.storage_rank
        result[same & (exact | (result < 0))] = number
    return result


def _row_major(shape: np.ndarray) -> np.ndarray:
    """Strides in elements of row-major storage; extents beyond the rank are 1 and change
    nothing.
    """
    strides = [np.ones(len(shape), dtype=np.int64)]
    for axis in range(shape.shape[1] - 1, 0, -1):
        strides.append(bigint.multiply(strides[-1], shape[:, axis]))
    return np.stack(strides[::-1], axis=1)
