"""Batches: cases that differ in data only, so that their tensors stack along a new leading axis.

Which cases share a batch changes no bit of any of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np

from opgen.calls.factorize import factorize, factorize_rows, true_columns
from opgen.calls.layout import elements
from opgen.calls.table import ScalarColumn
from opgen.model import Call, TensorDesc
from opgen.oracle.judgement import Judgement
from opgen.spec.compute_dtype import Computed
from opgen.suite.planning.plan import Plan

BATCH_ELEMENTS = 1 << 16
"""Elements of one batch's tensors beyond which it is cut: small enough for the cache, large enough
for numpy."""
BATCH_CASES = 64
"""Cases of one batch, at most."""


@dataclass(slots=True)
class Batch:
    """Cases of one operator that share every shape, stride and attribute; ``elements`` are those
    that all tensors of a case hold.

    ``tensors`` are the call's descriptors, ``names`` the spec's bound names, ``wanted`` the outputs
    to compute, ``exact`` those that no compute mode rounds; ``optional``: to round inputs to
    ``compute`` is allowed, and not asked for. ``roles`` names every input of the operator,
    ``gradient`` the one that it is linear in, ``inputs`` those that are no null pointer here.
    ``given`` are values of inputs that no recipe draws, row-major.
    """

    op: str
    rows: np.ndarray
    ids: tuple[str, ...]
    tensors: dict[str, TensorDesc]
    elements: int
    inputs: tuple[str, ...]
    names: dict[str, int]
    wanted: tuple[str, ...]
    exact: frozenset[str]
    compute: str
    optional: bool
    recipe: str
    roles: dict[str, str]
    gradient: str
    factors: int
    given: Mapping[str, Any] = field(default_factory=dict)

    def some(self, kept: Sequence[int]) -> Batch:
        """The cases at these places of the batch, in this order."""
        return replace(self, rows=self.rows[list(kept)], ids=tuple([self.ids[i] for i in kept]))


@dataclass(frozen=True)
class WithData:
    """Cases that have data: each makes call ``used[position[i]]`` of a judged table and stands in
    the suite at ``places[i]``.
    """

    used: np.ndarray
    position: np.ndarray
    places: np.ndarray
    recipe: Sequence[str]
    ids: Sequence[str]
    given: Sequence[Mapping[str, Any]]


def batches(
    plan: Plan,
    judged: Judgement,
    calls: Sequence[Call],
    compute: Computed,
    wanted: Mapping[str, np.ndarray],
    data: WithData,
) -> Iterator[Batch]:
    """Cases with data, grouped by everything that shapes their computation. ``calls``, the dtypes
    that they are computed in and their outputs (name -> (calls,) bool) are those of a judged
    table.
    """
    spec, used = judged.spec, data.used
    tensors = {
        p.name: ~judged.view.get((p.name, "null")).data
        for p in spec.parameters.values()
        if p.is_tensor
    }
    described = list(map(itemgetter(*tensors), [calls[i].args for i in used.tolist()]))
    modes = [column[used].tolist() for column in compute]
    alike, _ = factorize(zip(judged.table.alike(used)[0].tolist(), *modes, strict=True))
    digests = map(_digest, data.given) if any(data.given) else repeat("")
    group, first = factorize(zip(alike[data.position].tolist(), data.recipe, digests, strict=False))
    order, ends = np.argsort(group, kind="stable"), np.cumsum(np.bincount(group)).tolist()
    places, ids = data.places[order], tuple([data.ids[i] for i in order.tolist()])
    rows = used[data.position[first]]
    there = {name: here[rows] for name, here in tensors.items()}
    size = elements(judged.table)[rows].astype(np.int64)
    descs = [dict(zip(tensors, described[i], strict=False)) for i in data.position[first].tolist()]
    for i in np.flatnonzero(~np.logical_and.reduce(list(there.values()))).tolist():
        descs[i] = {name: desc for name, desc in descs[i].items() if desc is not None}
    steps, cases = (
        np.clip(BATCH_ELEMENTS // np.maximum(size, 1), 1, BATCH_CASES).tolist(),
        first.tolist(),
    )
    columns = zip(
        [0, *ends],
        ends,
        steps,
        descs,
        size.tolist(),
        true_columns({p.name: there[p.name] for p in spec.inputs}),
        _names(judged, rows),
        true_columns({name: asked[rows] for name, asked in wanted.items()}),
        *[column[rows].tolist() for column in compute],
        [data.recipe[i] for i in cases],
        [data.given[i] for i in cases],
        strict=False,
    )
    roles, exact = (
        {p.name: plan.roles.get(p.name, "operand") for p in spec.inputs},
        frozenset(spec.exact),
    )
    gradient = next((name for name, role in roles.items() if role == "gradient"), next(iter(roles)))
    op, factors = spec.op, plan.factors
    for (
        start,
        end,
        step,
        by_name,
        held,
        inputs,
        names,
        outputs,
        dtype,
        optional,
        recipe,
        given,
    ) in columns:
        for at in range(start, end, step):
            some = slice(at, min(at + step, end))
            yield Batch(
                op,
                places[some],
                ids[some],
                by_name,
                held,
                inputs,
                names,
                outputs,
                exact,
                dtype,
                optional,
                recipe,
                roles,
                gradient,
                factors,
                given,
            )


def _digest(given: Mapping[str, Any]) -> str:
    """A digest of given values; the empty string where none are given."""
    if not given:
        return ""
    parts = [name.encode() + np.asarray(values).tobytes() for name, values in sorted(given.items())]
    return hashlib.blake2b(b"\0".join(parts)).hexdigest()


def _names(judged: Judgement, rows: np.ndarray) -> list[dict[str, int]]:
    """The bound names of each row."""
    scalars = [
        name for name, column in judged.table.columns.items() if isinstance(column, ScalarColumn)
    ]
    names = np.array([*scalars, *judged.spec.scope.occurrences], dtype=object)
    values, everywhere = (
        [judged.view.get((name, "")) for name in names],
        np.ones(len(rows), dtype=bool),
    )
    numbers = np.array([value.data[rows] for value in values]).astype(np.int64).T
    bound = np.array(
        [everywhere if value.bound is True else value.bound[rows] for value in values]
    ).T
    found: list[dict[str, int]] = [{}] * len(rows)
    alike, first = factorize_rows(bound)
    for number, there in enumerate(bound[first]):
        some, mine = names[there].tolist(), np.flatnonzero(alike == number)
        for row, items in zip(mine.tolist(), numbers[mine][:, there].tolist(), strict=True):
            found[row] = dict(zip(some, items, strict=False))
    return found
