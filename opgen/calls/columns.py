"""A parameter of many calls as arrays: a column, of the type that its kind asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from opgen.calls import bigint

Index: TypeAlias = Any
"""What selects rows: a boolean mask, an array of positions or a slice."""


@dataclass(frozen=True)
class TensorColumn:
    """One tensor parameter of all rows. Extents beyond a row's rank are 1, strides and storage
    extents 0 and 1.

    ``strided`` rows carry explicit strides; ``storage_rank`` is -1 where the storage equals the
    view. ``limits`` (rows, 2) float64 are between which numbers data are asked for, NaN where
    nothing is.
    """

    null: np.ndarray
    dtype: np.ndarray
    format: np.ndarray
    rank: np.ndarray
    shape: np.ndarray
    strided: np.ndarray
    strides: np.ndarray
    offset: np.ndarray
    storage_rank: np.ndarray
    storage: np.ndarray
    limits: np.ndarray

    def numel(self) -> np.ndarray:
        """Number of elements of the view, exact."""
        return bigint.product_along(self.shape)

    def plain(self) -> np.ndarray:
        """(rows,) bool: contiguous, and the storage equals the view: :data:`LAYOUT` says nothing
        there.
        """
        return np.asarray(~self.strided & (self.offset == 0) & (self.storage_rank < 0))


@dataclass(frozen=True)
class ArrayColumn:
    """One array of numbers or truths; values beyond a row's length are 0."""

    null: np.ndarray
    length: np.ndarray
    values: np.ndarray

    def items(self) -> np.ndarray:
        """(rows,) of Python objects: each row's values as a tuple."""
        result = np.empty(len(self.length), dtype=object)
        result[:] = list(rows_of(self.values, self.length))
        return result


@dataclass(frozen=True)
class ScalarColumn:
    """One scalar parameter: whole numbers, truths, reals or texts; 0, or empty, where it is
    null.
    """

    null: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class TypedColumn:
    """One aclScalar: float64 values, 0 where it is null, and the dtype of each."""

    null: np.ndarray
    dtype: np.ndarray
    values: np.ndarray


Column: TypeAlias = TensorColumn | ArrayColumn | ScalarColumn | TypedColumn


SomeColumn = TypeVar("SomeColumn", bound=TensorColumn | ArrayColumn | ScalarColumn | TypedColumn)


LAYOUT = ("strided", "strides", "offset", "storage_rank", "storage")
"""The fields of a tensor's column that say how it lies in memory."""


UNLIMITED = (np.nan, np.nan)
"""The limits of data of which a call says none."""


def take(column: SomeColumn, rows: Index) -> SomeColumn:
    """The rows of a column at ``rows``, in that order."""
    return replace(column, **{name: part[rows] for name, part in vars(column).items()})


def rows_of(matrix: np.ndarray, lengths: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """The first values of each row."""
    return (
        map(tuple, matrix.tolist())
        if (lengths == matrix.shape[1]).all()
        else (
            tuple(row[:length])
            for row, length in zip(matrix.tolist(), np.maximum(lengths, 0).tolist(), strict=True)
        )
    )
