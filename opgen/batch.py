"""Batches: cases that differ in data only, so that their tensors stack along a new leading axis.

Which cases share a batch changes no bit of any of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import prod
from typing import Any

import numpy as np

from opgen.model import Call, TensorDesc
from opgen.oracle import Judgement
from opgen.plan import Plan
from opgen.table import CallTable, ScalarColumn
from opgen.terms import Reference

BATCH_ELEMENTS = 1 << 16
"""Elements of one batch's tensors beyond which it is cut: small enough for the cache, large enough for numpy."""
BATCH_CASES = 64


@dataclass(frozen=True)
class Batch:
    """Cases of one operator that share every shape, stride and attribute.

    ``tensors`` are the call's descriptors, ``names`` the spec's bound names, ``wanted`` the outputs to compute, ``exact`` those
    that no compute mode rounds. ``roles`` names every input of the operator, ``inputs`` those that are no null pointer here.
    ``given`` are values of inputs that no recipe draws, row-major.
    """

    op: str
    rows: np.ndarray
    ids: tuple[str, ...]
    tensors: dict[str, TensorDesc]
    inputs: tuple[str, ...]
    names: dict[str, int]
    wanted: tuple[str, ...]
    exact: frozenset[str]
    compute: str
    recipe: str
    roles: dict[str, str]
    factors: int
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WithData:
    """What the rows of a judged table are computed from, beside their calls."""

    compute: np.ndarray
    wanted: Mapping[str, np.ndarray]
    recipe: Sequence[str]
    ids: Sequence[str]
    given: Sequence[Mapping[str, Any]]


def batches(plan: Plan, judged: Judgement, data: WithData, rows: np.ndarray, start: int, calls: Sequence[Call]) -> Iterable[Batch]:
    """``rows`` of a judged table, grouped by everything that shapes their computation; ``start`` is the case of row 0."""
    if not len(rows):
        return
    spec = judged.spec
    scalars = [name for name, column in judged.table.columns.items() if isinstance(column, ScalarColumn)]
    bound = {name: _bound_column(judged, (name, "")) for name in [*scalars, *spec.scope.occurrences]}
    inputs = {p.name: plan.roles.get(p.name, "operand") for p in spec.inputs}
    groups = _groups(judged.table, data, rows, [_ranges(call) for call in calls])
    for members in groups:
        row = int(members[0])
        tensors = {name: desc for name, desc in calls[row].args.items() if isinstance(desc, TensorDesc)}
        size = max(sum(prod(d.shape) for d in tensors.values()), 1)
        step = max(1, min(BATCH_CASES, BATCH_ELEMENTS // size))
        for i in range(0, len(members), step):
            some = members[i : i + step]
            yield Batch(
                op=spec.op,
                rows=some + start,
                ids=tuple(data.ids[r] for r in some),
                tensors=tensors,
                inputs=tuple(name for name in inputs if name in tensors),
                names={name: int(values[row]) for name, (values, there) in bound.items() if there[row]},
                wanted=tuple(name for name, asked in data.wanted.items() if asked[row]),
                exact=frozenset(spec.exact),
                compute=data.compute[row],
                recipe=data.recipe[row],
                roles=inputs,
                factors=plan.factors,
                given=data.given[row],
            )


def _groups(table: CallTable, data: WithData, rows: np.ndarray, ranges: Sequence[str]) -> list[np.ndarray]:
    """The rows that may share a batch, in the order of their first."""
    given = [_digest(one) for one in data.given]
    words = sorted({*data.compute, *data.recipe, *given, *ranges})
    labels = {word: i for i, word in enumerate(words)}
    columns = [column[rows] for column in _numbers(table)]
    for of in (data.compute, data.recipe, given, ranges):
        columns.append(np.array([labels[of[row]] for row in rows]))
    _, first, group = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    return [rows[group == number] for number in np.argsort(first)]


def _ranges(call: Call) -> str:
    """Where a call asks its tensors' data to lie, which is no column of a table; mostly empty."""
    asked = [(name, v.range) for name, v in call.args.items() if type(v) is TensorDesc and v.range is not None]
    return str(asked) if asked else ""


def _digest(given: Mapping[str, Any]) -> str:
    """A digest of given values; the empty string where none are given."""
    parts = [name.encode() + np.asarray(values).tobytes() for name, values in sorted(given.items())]
    return hashlib.blake2b(b"\0".join(parts)).hexdigest() if parts else ""


def _bound_column(judged: Judgement, reference: Reference) -> tuple[np.ndarray, np.ndarray]:
    value, rows = judged.view.get(reference), len(judged.table)
    return np.broadcast_to(np.asarray(value.data), rows), np.broadcast_to(np.asarray(value.bound, dtype=bool), rows)


def _numbers(table: CallTable) -> Iterable[np.ndarray]:
    """Every column of a table but the product, one by one."""
    for column in table.columns.values():
        for f in fields(column):
            values = getattr(column, f.name)
            yield from (values.T if values.ndim == 2 else [values])
