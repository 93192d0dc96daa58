"""Many calls of one operator as columns: the only thing that judge and maker share.

A :class:`CallTable` is a struct of arrays. Every function that changes one returns a new table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from operator import itemgetter

import numpy as np

from opgen.calls import bigint
from opgen.calls.arguments import arguments_of
from opgen.calls.building import BUILD
from opgen.calls.columns import LAYOUT, Column, Index, TensorColumn, take
from opgen.calls.factorize import factorize, factorize_rows
from opgen.calls.kinds import KINDS
from opgen.calls.vocabulary import vocabulary
from opgen.model import Argument, Call, TensorDesc

_FILL = {"shape": 1, "storage": 1}


@dataclass(frozen=True)
class CallTable:
    """Calls of one api: ``kinds`` maps its parameters to names of
    :data:`opgen.calls.kinds.KINDS`.
    """

    api: str
    kinds: Mapping[str, str]
    product: np.ndarray
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.product)

    @property
    def tensors(self) -> dict[str, TensorColumn]:
        """The columns of the parameters that are tensors, by name."""
        return {
            name: column
            for name, column in self.columns.items()
            if isinstance(column, TensorColumn)
        }

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

    def arguments(self, names: Collection[str]) -> list[dict[str, Argument]]:
        """Some arguments of every row, by name; equal tensors are one object."""
        tensor = cache(TensorDesc)
        columns = [arguments_of(self.columns[name], tensor) for name in names]
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
                BUILD[KINDS[kind].family]([values[name] for name in names], KINDS[kind]),
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


def found_in(known: CallTable, table: CallTable) -> np.ndarray:
    """(rows,) bool: which calls of a table stand in another table of their api."""
    both = concatenate([known, table])
    number, _ = factorize_rows(np.stack([both.alike()[0], both.product], axis=1))
    return np.isin(number[len(known) :], number[: len(known)])


def _integers(part: np.ndarray) -> np.ndarray:
    """(rows, width) int64: different where a part of a column is."""
    matrix = part if part.ndim == 2 else part[:, None]
    if matrix.dtype.kind in "OU":  # numbers that may be beyond int64, and texts
        return factorize(map(tuple, matrix.tolist()))[0].astype(np.int64)[:, None]
    bits = matrix.view(f"i{matrix.itemsize}") if matrix.dtype.kind == "f" else matrix
    return bits.astype(np.int64)


def _stack(parts: list[np.ndarray], fill: int) -> np.ndarray:
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    return np.concatenate([bigint.widened(part, width, fill) for part in parts])
