"""Many calls of one operator as columns: the only thing that judge and maker share.

A :class:`CallTable` is a struct of arrays. Every function that changes one returns a new table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from opgen import wide
from opgen.model import Argument, Call, TensorDesc
from opgen.words import words

Index: TypeAlias = Any
"""What selects rows: a boolean mask, an array of positions or a slice."""


@dataclass(frozen=True)
class TensorColumn:
    """One tensor parameter of all rows. Extents beyond a row's rank are 1, strides and storage extents 0 and 1.

    ``strided`` rows carry explicit strides; ``storage_rank`` is -1 where the storage equals the view.
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

    def numel(self) -> np.ndarray:
        """Number of elements of the view, exact."""
        return wide.product_along(self.shape)


@dataclass(frozen=True)
class ArrayColumn:
    """One int or bool array parameter; values beyond a row's length are 0."""

    null: np.ndarray
    length: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class ScalarColumn:
    """One scalar parameter: int64 or bool values."""

    values: np.ndarray


Column: TypeAlias = TensorColumn | ArrayColumn | ScalarColumn
SCALARS = {"int8": (-(2**7), 2**7 - 1), "int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1), "bool": (0, 1)}
"""The scalar kinds and what they hold."""
_FILL = {"shape": 1, "storage": 1}


@dataclass(frozen=True)
class CallTable:
    """Calls of one api: ``kinds`` maps its parameters to tensor, int_array, bool_array, int64, int32, int8 or bool."""

    api: str
    kinds: Mapping[str, str]
    product: np.ndarray
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.product)

    def take(self, rows: Index) -> CallTable:
        """The rows at ``rows``, in that order."""
        picked = {
            name: replace(column, **{f.name: getattr(column, f.name)[rows] for f in fields(column)})
            for name, column in self.columns.items()
        }
        return replace(self, product=self.product[rows], columns=picked)

    def call(self, row: int) -> Call:
        """One row as a :class:`Call`."""
        args = {name: _argument(column, self.kinds[name], row) for name, column in self.columns.items()}
        return Call(self.api, words().names["product"][self.product[row]], args)

    def calls(self) -> list[Call]:
        """Every row as a :class:`Call`."""
        return [self.call(row) for row in range(len(self))]


def from_calls(api: str, kinds: Mapping[str, str], calls: Sequence[Call]) -> CallTable:
    """Columns of calls that all have the parameters of ``kinds``."""
    index = words().index["product"]
    pick = itemgetter(*kinds, next(iter(kinds)))  # one name more, so that there are always several
    values = zip(*(pick(call.args) for call in calls), strict=True) if calls else ([] for _ in kinds)
    columns = {
        name: _BUILD["tensor" if kind == "tensor" else "array" if kind.endswith("_array") else "scalar"](list(column), kind)
        for (name, kind), column in zip(kinds.items(), values, strict=False)
    }
    return CallTable(api, kinds, np.array([index[call.product] for call in calls], dtype=np.int8), columns)


def concatenate(tables: Sequence[CallTable]) -> CallTable:
    """All rows of tables of one api, one after the other; at least one table."""
    first = tables[0]
    columns = {
        name: type(column)(
            **{f.name: _stack([getattr(t.columns[name], f.name) for t in tables], _FILL.get(f.name, 0)) for f in fields(column)}
        )
        for name, column in first.columns.items()
    }
    return replace(first, product=np.concatenate([t.product for t in tables]), columns=columns)


def _stack(parts: list[np.ndarray], fill: int) -> np.ndarray:
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    width = max(p.shape[1] for p in parts)
    return np.concatenate([np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=fill) for p in parts])


def padded(lists: Sequence[Sequence[int]], fill: int, at_least: int = 1) -> np.ndarray:
    """(rows, width) matrix of lists of different length."""
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    flat = wide.as_column(list(chain.from_iterable(lists)))
    matrix = np.full((len(lists), max(at_least, int(lengths.max(initial=0)))), fill, dtype=flat.dtype)
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = flat
    return matrix


_ABSENT = TensorDesc((), "UNDEFINED", "UNDEFINED")


def _shared(values: Sequence[Any]) -> tuple[np.ndarray, list[Any], np.ndarray]:
    """(rows that are null, the objects of ``values`` once each, the position of each row among them)."""
    ids = list(map(id, values))
    shared = dict(zip(ids, values, strict=True))
    position = {one: i for i, one in enumerate(shared)}
    rows = np.fromiter(map(position.__getitem__, ids), dtype=np.intp, count=len(ids))
    distinct = list(shared.values())
    return np.array([v is None for v in distinct], dtype=bool)[rows], distinct, rows


def _tensor_column(values: Sequence[Any], kind: str) -> TensorColumn:
    null, distinct, rows = _shared(values)
    dtypes, formats = words().index["dtype"], words().index["format"]
    descs: list[TensorDesc] = [_ABSENT if v is None else v for v in distinct]
    shapes = [d.shape for d in descs]
    strides = [d.strides for d in descs]
    storage = [d.storage_shape for d in descs]
    return TensorColumn(
        null=null,
        dtype=np.array([dtypes[d.dtype] for d in descs], dtype=np.int16)[rows],
        format=np.array([formats[d.format] for d in descs], dtype=np.int16)[rows],
        rank=np.array([len(s) for s in shapes], dtype=np.int64)[rows],
        shape=padded(shapes, 1)[rows],
        strided=np.array([s is not None for s in strides], dtype=bool)[rows],
        strides=padded([s or () for s in strides], 0)[rows],
        offset=wide.as_column([d.offset for d in descs])[rows],
        storage_rank=np.array([-1 if s is None else len(s) for s in storage], dtype=np.int64)[rows],
        storage=padded([s or () for s in storage], 1)[rows],
    )


def _array_column(values: Sequence[Any], kind: str) -> ArrayColumn:
    null, distinct, rows = _shared(values)
    lists = [v or () for v in distinct]
    matrix = padded(lists, 0)
    return ArrayColumn(
        null=null,
        length=np.array([len(v) for v in lists], dtype=np.int64)[rows],
        values=(matrix.astype(bool) if kind == "bool_array" else matrix)[rows],
    )


def _scalar_column(values: Sequence[Any], kind: str) -> ScalarColumn:
    return ScalarColumn(np.array(values, dtype=bool) if kind == "bool" else np.array(values, dtype=np.int64))


_BUILD: dict[str, Callable[[Sequence[Any], str], Column]] = {
    "tensor": _tensor_column,
    "array": _array_column,
    "scalar": _scalar_column,
}


def _argument(column: Column, kind: str, row: int) -> Argument:
    if isinstance(column, ScalarColumn):
        return bool(column.values[row]) if kind == "bool" else int(column.values[row])
    if column.null[row]:
        return None
    if isinstance(column, ArrayColumn):
        return tuple(column.values[row, : column.length[row]].tolist())
    rank, storage_rank = column.rank[row], column.storage_rank[row]
    return TensorDesc(
        shape=tuple(column.shape[row, :rank].tolist()),
        dtype=words().names["dtype"][column.dtype[row]],
        format=words().names["format"][column.format[row]],
        strides=tuple(column.strides[row, :rank].tolist()) if column.strided[row] else None,
        offset=int(column.offset[row]),
        storage_shape=tuple(column.storage[row, :storage_rank].tolist()) if storage_rank >= 0 else None,
    )
