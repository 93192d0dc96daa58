"""What calls cost to hold, and which cannot be held at all."""

from __future__ import annotations

import numpy as np

from opgen.calls.table import CallTable, TensorColumn


def elements(table: CallTable) -> np.ndarray:
    """(rows,) float64: elements of all tensors of a call, the storage of views included."""
    total = np.zeros(len(table))
    for column in table.columns.values():
        if isinstance(column, TensorColumn):
            view, storage = (np.abs(extents.astype(np.float64)).prod(axis=1) for extents in (column.shape, column.storage))
            total += np.where(column.storage_rank >= 0, storage, np.where(column.null, 0.0, view))
    return total


def possible(table: CallTable) -> np.ndarray:
    """(rows,) bool: no extent of a tensor is negative. Pages that are silent about such tensors do not make them possible."""
    result = np.ones(len(table), dtype=bool)
    for column in table.columns.values():
        if isinstance(column, TensorColumn):
            result &= (column.shape >= 0).all(axis=1)
    return result
