"""From columns back to the arguments of each call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from opgen.calls import typed
from opgen.calls.columns import ArrayColumn, Column, TensorColumn, TypedColumn, rows_of
from opgen.calls.vocabulary import vocabulary
from opgen.model import AclScalar, Argument, TensorDesc


def arguments_of(column: Column, tensor: Callable[..., TensorDesc]) -> Sequence[Argument]:
    """The values of a column as arguments; ``tensor`` makes those that are tensors."""
    if isinstance(column, TensorColumn):
        values = list[Argument](map(tensor, *_facts(column)))
    elif isinstance(column, ArrayColumn):
        values = list(rows_of(column.values, column.length))
    elif isinstance(column, TypedColumn):
        names = map(vocabulary().names["dtype"].__getitem__, column.dtype.tolist())
        pairs = zip(column.values.tolist(), names, strict=True)
        values = [AclScalar(typed.value_of(v, d), d) for v, d in pairs]
    else:
        values = column.values.tolist()
    for row in np.flatnonzero(column.null).tolist():
        values[row] = None
    return values


def _facts(column: TensorColumn) -> list[Iterable[object]]:
    """What is said of the tensors of a column, in the order of :class:`TensorDesc`."""
    names = vocabulary().names
    facts: list[Iterable[object]] = [
        rows_of(column.shape, column.rank),
        map(names["dtype"].__getitem__, column.dtype.tolist()),
        map(names["format"].__getitem__, column.format.tolist()),
    ]
    asked = ~np.isnan(column.limits[:, 0])
    if asked.any() or not column.plain().all():
        facts += [
            _where(column.strided, rows_of(column.strides, column.rank)),
            column.offset.tolist(),
            _where(column.storage_rank >= 0, rows_of(column.storage, column.storage_rank)),
            _where(asked, map(tuple, column.limits.tolist())),
        ]
    return facts


def _where(there: np.ndarray, values: Iterable[object]) -> Iterator[object]:
    """The values where they are there, None elsewhere."""
    return (value if here else None for here, value in zip(there.tolist(), values, strict=True))
