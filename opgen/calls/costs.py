"""What calls cost to hold, and which cannot be held at all."""

from __future__ import annotations

import numpy as np

from opgen.calls.table import CallTable, TensorColumn


def elements(table: CallTable) -> np.ndarray:
    """(rows,) float64: elements of all tensors of a call, the storage of views included."""
    total = np.zeros(len(table))
    for column in table.columns.values():
        if isinstance(column, TensorColumn):
            apart = column.storage_rank >= 0
            total += np.where(column.null | apart, 0.0, _product(column.shape))
            if apart.any():
                total += np.where(apart, _product(column.storage), 0.0)
    return total


def _product(extents: np.ndarray) -> np.ndarray:
    """(rows,) float64: of the sizes of each row's extents."""
    return np.asarray(np.abs(extents.astype(np.float64).prod(axis=1)))


def possible(table: CallTable) -> np.ndarray:
    """(rows,) bool: no extent of a tensor is negative. Pages that are silent about such tensors do not make them possible."""
    result = np.ones(len(table), dtype=bool)
    for column in table.columns.values():
        if isinstance(column, TensorColumn):
            result &= (column.shape >= 0).all(axis=1)
    return result
