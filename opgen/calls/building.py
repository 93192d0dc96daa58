"""From the arguments of many calls to columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from opgen.calls import bigint
from opgen.calls.columns import (
    UNLIMITED,
    ArrayColumn,
    Column,
    ScalarColumn,
    TensorColumn,
    TypedColumn,
)
from opgen.calls.kinds import INT64, Family, ParameterKind, column_of
from opgen.calls.vocabulary import vocabulary
from opgen.model import AclScalar, TensorDesc

Values: TypeAlias = Sequence[Sequence[Any]]
"""The values of some parameters, each in all rows."""


def _ragged(
    lists: Sequence[Sequence[float] | None], fill: int, dtype: np.dtype = INT64.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """(rows,) lengths and (rows, width) matrix of lists of different length; none is an empty
    one.
    """
    if not any(lists):
        return np.zeros(len(lists), dtype=np.int64), np.full((len(lists), 1), fill, dtype=dtype)
    rows = [numbers or () for numbers in lists]
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    flat = column_of(dtype, list(chain.from_iterable(rows)))
    matrix = np.full((len(lists), max(1, int(lengths.max(initial=0)))), fill, dtype=flat.dtype)
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = flat
    return lengths, matrix


def _distinct(columns: Values) -> tuple[list[Any], np.ndarray]:
    """(the objects of some columns once each, (columns, rows) the position of each value among
    them).
    """
    values = list(chain.from_iterable(columns))
    _, first, number = np.unique(
        np.fromiter(map(id, values), np.int64, len(values)), return_index=True, return_inverse=True
    )
    return [values[i] for i in first.tolist()], number.reshape(len(columns), -1)


def _null(values: list[Any]) -> np.ndarray:
    """(values,) bool: those that are None."""
    return np.fromiter([value is None for value in values], dtype=bool, count=len(values))


def _given(values: list[tuple[int, ...] | None]) -> np.ndarray:
    """(values,) bool: those that are not None; mostly none is."""
    return ~_null(values) if values.count(None) < len(values) else np.zeros(len(values), dtype=bool)


def _cut(matrix: np.ndarray, lengths: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows of a ragged matrix, as wide as the longest of them and one at least."""
    width = max(int(lengths[rows].max(initial=0)), 1)
    return (
        bigint.narrowed(matrix[:, :width][rows])
        if matrix.dtype == object
        else matrix[:, :width][rows]
    )


_ABSENT = TensorDesc((), "UNDEFINED", "UNDEFINED")


def _tensor_columns(columns: Values, kind: ParameterKind) -> Iterator[TensorColumn]:
    distinct, places = _distinct(columns)
    null, index = _null(distinct), vocabulary().index
    there = [_ABSENT if desc is None else desc for desc in distinct]
    shapes, strides, storage = (
        [desc.shape for desc in there],
        [desc.strides for desc in there],
        [desc.storage_shape for desc in there],
    )
    dtype = np.fromiter(
        map(index["dtype"].__getitem__, [desc.dtype for desc in there]), dtype=np.int16
    )
    layout = np.fromiter(
        map(index["format"].__getitem__, [desc.format for desc in there]), dtype=np.int16
    )
    offset = bigint.as_column([desc.offset for desc in there])
    strided, stored = _given(strides), _given(storage)
    limits = np.array([desc.range or UNLIMITED for desc in there], dtype=np.float64).reshape(-1, 2)
    rank, shape = _ragged(shapes, 1)
    steps, stride = _ragged(strides, 0)
    width, extents = _ragged(storage, 1)
    for rows in places:
        yield TensorColumn(
            null[rows],
            dtype[rows],
            layout[rows],
            rank[rows],
            _cut(shape, rank, rows),
            strided[rows],
            _cut(stride, steps, rows),
            bigint.narrowed(offset[rows]) if offset.dtype == object else offset[rows],
            np.where(stored, width, -1)[rows],
            _cut(extents, width, rows),
            limits[rows],
        )


def _array_columns(columns: Values, kind: ParameterKind) -> Iterator[ArrayColumn]:
    distinct, places = _distinct(columns)
    null, (length, matrix) = _null(distinct), _ragged(distinct, 0, kind.element.dtype)
    matrix = matrix.astype(bool) if kind.element.term == "bool" else matrix
    for rows in places:
        yield ArrayColumn(null[rows], length[rows], _cut(matrix, length, rows))


def _scalar_columns(columns: Values, kind: ParameterKind) -> Iterator[ScalarColumn]:
    for values in columns:
        null, filled = np.zeros(len(values), dtype=bool), values
        if None in values:
            null = _null(list(values))
            filled = [kind.element.blank if value is None else value for value in values]
        yield ScalarColumn(null, column_of(kind.element.dtype, filled))


def _typed_columns(columns: Values, kind: ParameterKind) -> Iterator[TypedColumn]:
    index = vocabulary().index["dtype"]
    for values in columns:
        filled = [_NO_SCALAR if value is None else value for value in values]
        yield TypedColumn(
            _null(list(values)),
            np.array([index[scalar.dtype] for scalar in filled], dtype=np.int16),
            np.array([scalar.value for scalar in filled], dtype=np.float64),
        )


_NO_SCALAR = AclScalar(0, "UNDEFINED")
BUILD: Mapping[Family, Callable[[Values, ParameterKind], Iterator[Column]]] = {
    "tensor": _tensor_columns,
    "array": _array_columns,
    "scalar": _scalar_columns,
    "typed": _typed_columns,
    "list": _scalar_columns,
}
"""Family of a kind -> what makes the columns of some of its parameters, from the values of each."""
