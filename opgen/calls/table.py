"""Many calls of one operator as columns: the only thing that judge and maker share.

A :class:`CallTable` is a struct of arrays. Every function that changes one returns a new table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

import numpy as np

from opgen.calls import bigint
from opgen.calls.factorize import factorize, factorize_rows
from opgen.calls.kinds import COLUMN_KINDS, Family, ParameterKind
from opgen.calls.vocabulary import vocabulary
from opgen.model import Argument, Call, TensorDesc

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
    """One int or bool array parameter; values beyond a row's length are 0."""

    null: np.ndarray
    length: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class ScalarColumn:
    """One scalar parameter: int64, bool or float64 values, 0 where it is null."""

    null: np.ndarray
    values: np.ndarray


Column: TypeAlias = TensorColumn | ArrayColumn | ScalarColumn
SomeColumn = TypeVar("SomeColumn", bound=TensorColumn | ArrayColumn | ScalarColumn)
LAYOUT = ("strided", "strides", "offset", "storage_rank", "storage")
"""The fields of a tensor's column that say how it lies in memory."""
_FILL = {"shape": 1, "storage": 1}
UNLIMITED = (np.nan, np.nan)
"""The limits of data of which a call says none."""


def take(column: SomeColumn, rows: Index) -> SomeColumn:
    """The rows of a column at ``rows``, in that order."""
    return replace(column, **{name: part[rows] for name, part in vars(column).items()})


@dataclass(frozen=True)
class CallTable:
    """Calls of one api: ``kinds`` maps its parameters to names of
    :data:`opgen.calls.kinds.COLUMN_KINDS`.
    """

    api: str
    kinds: Mapping[str, str]
    product: np.ndarray
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.product)

    def take(self, rows: Index) -> CallTable:
        """The rows at ``rows``, in that order."""
        picked = {name: take(column, rows) for name, column in self.columns.items()}
        return replace(self, product=self.product[rows], columns=picked)

    def alike(self, rows: Index = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """(the number of each row, where each number first stands) of some rows: rows that say
        the same have one number, whatever their products.
        """
        blocks = []
        for column in self.columns.values():
            silent: tuple[str, ...] = ()
            if isinstance(column, TensorColumn):
                silent = LAYOUT if column.plain().all() else ()
                silent += ("limits",) if np.isnan(column.limits).all() else ()
            parts = vars(column).items()
            blocks += [_integers(part[rows]) for name, part in parts if name not in silent]
        return factorize_rows(np.concatenate(blocks, axis=1))

    def call(self, row: int) -> Call:
        """One row as a :class:`Call`."""
        return self.take(np.array([row])).calls()[0]

    def arguments(self, names: Iterable[str]) -> list[dict[str, Argument]]:
        """Some arguments of every row, by name; equal tensors are one object."""
        names = list(names)
        known: dict[tuple[Any, ...], TensorDesc] = {}
        columns = [_arguments(self.columns[name], known) for name in names]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]

    def calls(self) -> list[Call]:
        """Every row as a :class:`Call`; equal tensors are one object."""
        names = vocabulary().names["product"]
        rows = zip(self.product.tolist(), self.arguments(self.columns), strict=True)
        return [Call(self.api, names[product], args) for product, args in rows]


def from_calls(api: str, kinds: Mapping[str, str], calls: Sequence[Call]) -> CallTable:
    """Columns of calls that all have the parameters of ``kinds``."""
    index = vocabulary().index["product"]
    pick = itemgetter(*kinds, next(iter(kinds)))  # one name more, so that there are always several
    every = list(zip(*(pick(call.args) for call in calls), strict=True)) or [()] * len(kinds)
    values = dict(zip(kinds, every, strict=False))
    made: dict[str, Column] = {}
    for kind in dict.fromkeys(kinds.values()):
        names = [name for name in kinds if kinds[name] == kind]
        made.update(
            zip(
                names,
                _BUILD[COLUMN_KINDS[kind].family](
                    [values[name] for name in names], COLUMN_KINDS[kind]
                ),
                strict=True,
            )
        )
    product = np.array([index[call.product] for call in calls], dtype=np.int8)
    return CallTable(api, kinds, product, {name: made[name] for name in kinds})


def concatenate(tables: Sequence[CallTable]) -> CallTable:
    """All rows of tables of one api, one after the other; at least one table."""
    first = tables[0]
    columns = {
        name: type(column)(
            **{
                f.name: _stack(
                    [getattr(t.columns[name], f.name) for t in tables], _FILL.get(f.name, 0)
                )
                for f in fields(column)
            }
        )
        for name, column in first.columns.items()
    }
    return replace(first, product=np.concatenate([t.product for t in tables]), columns=columns)


def _integers(part: np.ndarray) -> np.ndarray:
    """(rows, width) int64: different where a part of a column is."""
    matrix = part if part.ndim == 2 else part[:, None]
    if matrix.dtype == object:  # numbers that may be beyond int64
        return factorize(map(tuple, matrix.tolist()))[0].astype(np.int64)[:, None]
    return matrix.view(np.int64) if matrix.dtype == np.float64 else matrix.astype(np.int64)


def _stack(parts: list[np.ndarray], fill: int) -> np.ndarray:
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    return np.concatenate([bigint.widened(part, width, fill) for part in parts])


def _ragged(lists: Sequence[Sequence[int] | None], fill: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows,) lengths and (rows, width) matrix of lists of different length; none is an empty
    one.
    """
    if not any(lists):
        return np.zeros(len(lists), dtype=np.int64), np.full((len(lists), 1), fill, dtype=np.int64)
    rows = [numbers or () for numbers in lists]
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    flat = bigint.joined(rows)
    matrix = np.full((len(lists), max(1, int(lengths.max(initial=0)))), fill, dtype=flat.dtype)
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = flat
    return lengths, matrix


def _distinct(columns: Sequence[Sequence[Any]]) -> tuple[list[Any], np.ndarray]:
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


def _tensor_columns(
    columns: Sequence[Sequence[Any]], kind: ParameterKind
) -> Iterator[TensorColumn]:
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


def _array_columns(columns: Sequence[Sequence[Any]], kind: ParameterKind) -> Iterator[ArrayColumn]:
    distinct, places = _distinct(columns)
    null, (length, matrix) = _null(distinct), _ragged(distinct, 0)
    matrix = matrix.astype(bool) if kind.element.python is bool else matrix
    for rows in places:
        yield ArrayColumn(null[rows], length[rows], _cut(matrix, length, rows))


def _scalar_columns(
    columns: Sequence[Sequence[Any]], kind: ParameterKind
) -> Iterator[ScalarColumn]:
    for values in columns:
        null, filled = np.zeros(len(values), dtype=bool), values
        if None in values:
            null = _null(list(values))
            filled = [0 if value is None else value for value in values]
        yield ScalarColumn(null, np.array(filled, dtype=kind.element.dtype))


_BUILD: Mapping[Family, Callable[[Sequence[Sequence[Any]], ParameterKind], Iterator[Column]]] = {
    "tensor": _tensor_columns,
    "array": _array_columns,
    "scalar": _scalar_columns,
}


def _arguments(column: Column, known: dict[tuple[Any, ...], TensorDesc]) -> Sequence[Argument]:
    """The values of a column as arguments; tensors that are ``known`` are made once."""
    if isinstance(column, TensorColumn):
        values = _tensors(column, known)
    elif isinstance(column, ArrayColumn):
        values = list(_lists(column.values, column.length))
    else:
        values = column.values.tolist()
    for row in np.flatnonzero(column.null).tolist():
        values[row] = None
    return values


def _tensors(column: TensorColumn, known: dict[tuple[Any, ...], TensorDesc]) -> list[Argument]:
    names = vocabulary().names
    facts: list[Iterable[object]] = [
        _lists(column.shape, column.rank),
        map(names["dtype"].__getitem__, column.dtype.tolist()),
        map(names["format"].__getitem__, column.format.tolist()),
    ]
    asked = ~np.isnan(column.limits[:, 0])
    if asked.any() or not column.plain().all():
        facts += [
            _where(column.strided, _lists(column.strides, column.rank)),
            column.offset.tolist(),
            _where(column.storage_rank >= 0, _lists(column.storage, column.storage_rank)),
            _where(asked, map(tuple, column.limits.tolist())),
        ]
    keys = list(zip(*facts, strict=True))
    known |= {key: TensorDesc(*key) for key in set(keys) - known.keys()}
    return [known[key] for key in keys]


def _where(there: np.ndarray, values: Iterable[object]) -> Iterator[object]:
    """The values where they are there, None elsewhere."""
    return (value if here else None for here, value in zip(there.tolist(), values, strict=True))


def _lists(matrix: np.ndarray, lengths: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """The first values of each row."""
    return (
        tuple(row[:length])
        for row, length in zip(matrix.tolist(), np.maximum(lengths, 0).tolist(), strict=True)
    )
