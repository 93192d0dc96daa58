"""Batches: cases that differ in data only, so that their tensors stack along a new leading axis.

Which cases share a batch changes no bit of any of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from opgen.calls.case_table import CaseTable
from opgen.calls.factorize import factorize, true_columns
from opgen.calls.layout import elements
from opgen.model import TensorDesc
from opgen.oracle.judgement import Judgement
from opgen.spec.compute_dtype import ComputeDtypes
from opgen.suite.planning.plan import Plan

Given: TypeAlias = Mapping[str, Mapping[str, ArrayLike]]
"""Id -> input -> values that no recipe draws, row-major."""
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
    to compute, ``exact`` those of which no line says that compute modes round their inputs;
    ``optional``: to round inputs to ``compute`` is allowed, and not asked for. ``roles`` names
    every input of the operator, ``gradient`` the one that it is linear in, ``inputs`` those that
    are no null pointer here. ``given`` are values of inputs that no recipe draws, row-major.
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
    given: Mapping[str, ArrayLike] = field(default_factory=dict)

    def subset(self, kept: Sequence[int]) -> Batch:
        """The cases at these places of the batch, in this order."""
        return replace(self, rows=self.rows[list(kept)], ids=tuple([self.ids[i] for i in kept]))


def batches(
    plan: Plan,
    judged: Judgement,
    compute: ComputeDtypes,
    wanted: Mapping[str, np.ndarray],
    cases: CaseTable,
    rows: np.ndarray,
    given: Given,
) -> Iterator[Batch]:
    """The cases at ``rows``, grouped by everything that shapes their computation.

    They make calls of a judged table, of which ``compute`` and ``wanted`` (output -> (calls,)
    bool) say how they are computed; ``given``: id -> input -> values that no recipe draws.
    """
    spec = judged.spec
    used, position = np.unique(cases.row[rows], return_inverse=True)
    ids, recipe = [cases.id[row] for row in rows.tolist()], cases.recipe.take(rows)
    arrays = [given.get(name, {}) for name in ids] if given else [{}] * len(ids)
    alike, _ = factorize(
        zip(
            judged.table.alike(used)[0].tolist(),
            *[column[used].tolist() for column in compute],
            strict=True,
        )
    )
    digests = map(_digest, arrays) if given else repeat("")
    group, first = factorize(zip(alike[position].tolist(), recipe, digests, strict=False))
    order, ends = np.argsort(group, kind="stable"), np.cumsum(np.bincount(group)).tolist()
    calls = used[position[first]]
    tensors = [p.name for p in spec.parameters.values() if p.is_tensor]
    there = {name: ~judged.view.get((name, "null")).data[calls] for name in tensors}
    size = elements(judged.table)[calls].astype(np.int64)
    described = judged.table.take(calls).arguments(tensors)
    columns = zip(
        [0, *ends],
        ends,
        np.clip(BATCH_ELEMENTS // np.maximum(size, 1), 1, BATCH_CASES).tolist(),
        [{name: desc for name, desc in descs.items() if desc is not None} for descs in described],
        size.tolist(),
        true_columns({p.name: there[p.name] for p in spec.inputs}),
        judged.view.bindings(calls),
        true_columns({name: asked[calls] for name, asked in wanted.items()}),
        *[column[calls].tolist() for column in compute],
        [recipe[i] for i in first.tolist()],
        [arrays[i] for i in first.tolist()],
        strict=False,
    )
    roles, exact = (
        {p.name: plan.roles.get(p.name, "operand") for p in spec.inputs},
        frozenset(spec.exact),
    )
    gradient = next((name for name, role in roles.items() if role == "gradient"), next(iter(roles)))
    places, ordered = rows[order], [ids[i] for i in order.tolist()]
    for start, end, step, by_name, held, inputs, names, outputs, dtype, optional, *drawn in columns:
        for begin in range(start, end, step):
            some = slice(begin, min(begin + step, end))
            yield Batch(
                spec.op,
                places[some],
                tuple(ordered[some]),
                by_name,
                held,
                inputs,
                names,
                outputs,
                exact,
                dtype,
                optional,
                drawn[0],
                roles,
                gradient,
                plan.factors,
                drawn[1],
            )


def _digest(given: Mapping[str, ArrayLike]) -> str:
    """A digest of given values; the empty string where none are given."""
    if not given:
        return ""
    parts = [name.encode() + np.asarray(values).tobytes() for name, values in sorted(given.items())]
    return hashlib.blake2b(b"\0".join(parts)).hexdigest()
