"""Batches: cases that differ in data only, so that their tensors stack along a new leading axis.

Which cases share a batch changes no bit of any of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import compress
from typing import Any

import numpy as np

from opgen.calls import wide
from opgen.calls.distinct import chosen, numbered
from opgen.calls.table import CallTable, ScalarColumn
from opgen.judge.oracle import Judgement
from opgen.model import Call, TensorDesc
from opgen.planning.plan import Plan

BATCH_ELEMENTS = 1 << 16
"""Elements of one batch's tensors beyond which it is cut: small enough for the cache, large enough for numpy."""
BATCH_CASES = 64


@dataclass(slots=True)
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
    """Cases that have data: each makes call ``of[i]`` of a judged table and stands in the suite at ``places[i]``."""

    of: np.ndarray
    places: np.ndarray
    recipe: Sequence[str]
    ids: Sequence[str]
    given: Sequence[Mapping[str, Any]]


def batches(
    plan: Plan, judged: Judgement, calls: Sequence[Call], compute: np.ndarray, wanted: Mapping[str, np.ndarray], data: WithData
) -> Iterator[Batch]:
    """Cases with data, grouped by everything that shapes their computation. ``calls``, the dtypes that they are computed in and
    their outputs (name -> (calls,) bool) are those of a judged table."""
    spec = judged.spec
    used, position = np.unique(data.of, return_inverse=True)
    alike, _ = numbered(zip(_written(judged.table, used), compute[used], [_ranges(calls[i]) for i in used], strict=True))
    group, first = numbered(zip(alike[position].tolist(), data.recipe, map(_digest, data.given), strict=True))
    order, ends = np.argsort(group, kind="stable"), np.cumsum(np.bincount(group)).tolist()
    places, ids = data.places[order], [data.ids[i] for i in order.tolist()]
    rows = data.of[first]
    there = {p.name: ~judged.view.get((p.name, "null")).data[rows] for p in spec.parameters.values() if p.is_tensor}
    tensors = [{name: calls[row].args[name] for name in present} for row, present in zip(rows.tolist(), chosen(there), strict=True)]
    names, inputs = _names(judged, rows), chosen({p.name: there[p.name] for p in spec.inputs})
    outputs = chosen({name: asked[rows] for name, asked in wanted.items()})
    roles, exact = {p.name: plan.roles.get(p.name, "operand") for p in spec.inputs}, frozenset(spec.exact)
    size = np.sum([np.where(here, judged.view.get((name, "numel")).data[rows], 0) for name, here in there.items()], axis=0)
    steps = np.clip(BATCH_ELEMENTS // np.maximum(size, 1), 1, BATCH_CASES).tolist()
    start = 0
    for number, end in enumerate(ends):
        case = int(first[number])
        for at in range(start, end, steps[number]):
            some = slice(at, min(at + steps[number], end))
            yield Batch(
                spec.op, places[some], tuple(ids[some]), tensors[number], inputs[number], names[number], outputs[number], exact,
                compute[rows[number]], data.recipe[case], roles, plan.factors, data.given[case],
            )  # fmt: skip
        start = end


def _ranges(call: Call) -> str:
    """Where a call asks its tensors' data to lie, which is no column of a table; mostly empty."""
    asked = [(name, v.range) for name, v in call.args.items() if type(v) is TensorDesc and v.range is not None]
    return str(asked) if asked else ""


def _digest(given: Mapping[str, Any]) -> str:
    """A digest of given values; the empty string where none are given."""
    if not given:
        return ""
    parts = [name.encode() + np.asarray(values).tobytes() for name, values in sorted(given.items())]
    return hashlib.blake2b(b"\0".join(parts)).hexdigest()


def _names(judged: Judgement, rows: np.ndarray) -> list[dict[str, int]]:
    """The bound names of each row."""
    total = len(judged.table)
    scalars = [name for name, column in judged.table.columns.items() if isinstance(column, ScalarColumn)]
    values = {name: judged.view.get((name, "")) for name in [*scalars, *judged.spec.scope.occurrences]}
    numbers = [wide.spread(np.asarray(value.data), total)[rows].astype(np.int64).tolist() for value in values.values()]
    bound = [wide.spread(np.asarray(value.bound), total)[rows].tolist() for value in values.values()]
    return [
        dict(zip(compress(values, there), compress(of_row, there), strict=True))
        for of_row, there in zip(zip(*numbers, strict=True), zip(*bound, strict=True), strict=True)
    ]


def _written(table: CallTable, rows: np.ndarray) -> list[bytes]:
    """Everything that a table says of each row but its product, in one piece."""
    columns = [getattr(column, f.name)[rows] for column in table.columns.values() for f in fields(column)]
    blocks = [column if column.ndim == 2 else column[:, None] for column in columns]
    matrix = np.concatenate(blocks, axis=1, dtype=np.int64, casting="unsafe")
    text, width = matrix.tobytes(), matrix.shape[1] * matrix.itemsize
    return [text[at : at + width] for at in range(0, len(text), width)]
