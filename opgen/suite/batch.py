"""Batches: cases that differ in data only, so that their tensors stack along a new leading axis.

Which cases share a batch changes no bit of any of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from opgen.calls.case_table import CaseTable
from opgen.calls.factorize import factorize, true_columns
from opgen.calls.layout import elements
from opgen.model import TensorDesc
from opgen.numerics.recipes import RECIPES
from opgen.oracle.judgement import Judgement
from opgen.spec.parameter import Parameter
from opgen.suite import values
from opgen.suite.planning.plan import Plan

Given: TypeAlias = Mapping[str, Mapping[str, ArrayLike]]
"""Id -> input -> values that no recipe draws, row-major."""
UNLIMITED = (-np.inf, np.inf)
"""The range of a tensor of which neither a call nor a rule says anything."""
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

    Kernels see axes in the order of the spec's letters, whatever the format: the descriptors of
    tensors of another order are turned, and ``turned`` says which axis each one of an output is.
    """

    op: str
    rows: np.ndarray
    ids: tuple[str, ...]
    tensors: dict[str, TensorDesc]
    elements: int
    inputs: tuple[str, ...]
    names: dict[str, Any]
    wanted: tuple[str, ...]
    exact: frozenset[str]
    compute: str
    optional: bool
    recipe: str
    roles: dict[str, str]
    gradient: str
    factors: int
    given: Mapping[str, ArrayLike] = field(default_factory=dict)
    turned: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def subset(self, kept: Sequence[int]) -> Batch:
        """The cases at these places of the batch, in this order."""
        return replace(self, rows=self.rows[list(kept)], ids=tuple([self.ids[i] for i in kept]))


def batches(
    plan: Plan,
    judged: Judgement,
    cases: CaseTable,
    rows: np.ndarray,
    given: Given,
) -> Iterator[Batch]:
    """The cases at ``rows``, grouped by everything that shapes their computation.

    They make calls of a judged table; ``given``: id -> input -> values that no recipe draws.
    """
    spec = judged.spec
    used, position = np.unique(cases.row[rows], return_inverse=True)
    limits = {
        name: np.where(np.isnan(ends), UNLIMITED, ends)
        for name, ends in values.limits(judged).items()
    }
    ids, recipe = [cases.id[row] for row in rows.tolist()], cases.recipe.take(rows)
    arrays = [given.get(name, {}) for name in ids] if given else [{}] * len(ids)
    alike, _ = factorize(
        zip(
            judged.table.alike(used)[0].tolist(),
            *[column[used].tolist() for column in judged.compute],
            *[map(tuple, between[used].view(np.int64).tolist()) for between in limits.values()],
            strict=True,
        )
    )
    digests = map(_digest, arrays) if given else repeat("")
    group, first = factorize(zip(alike[position].tolist(), recipe, digests, strict=False))
    order, ends = np.argsort(group, kind="stable"), np.cumsum(np.bincount(group)).tolist()
    calls = used[position[first]]
    tensors = [p for p in spec.parameters.values() if p.is_tensor]
    formatted = [p for p in tensors if p.orders]
    size = elements(judged.table)[calls].astype(np.int64)
    described = judged.take(calls).table.arguments([p.name for p in tensors])
    given_to = [p.name for p in spec.inputs]
    gradient = next((name for name in given_to if plan.roles.get(name) == "gradient"), given_to[0])
    roles = {p.name: plan.role(p) for p in spec.inputs}
    roles[gradient] = "gradient"
    for name, between in limits.items():
        for descs, (low, high), drawn_by in zip(
            described, between[calls].tolist(), [recipe[i] for i in first.tolist()], strict=True
        ):
            follows = roles[name] == "saved" and RECIPES[drawn_by].consistent
            limited = low <= high and (low, high) != UNLIMITED
            if isinstance(desc := descs[name], TensorDesc) and (desc.range or not follows):
                descs[name] = replace(desc, range=(low, high) if limited else desc.range)
    null = {p.name: judged.view.get((p.name, "null")).data[calls] for p in tensors}
    for name, absent in null.items():
        for i in np.flatnonzero(absent).tolist():
            del described[i][name]
    columns = zip(
        [0, *ends],
        ends,
        np.clip(BATCH_ELEMENTS // np.maximum(size, 1), 1, BATCH_CASES).tolist(),
        described,
        size.tolist(),
        true_columns({p.name: ~null[p.name] for p in spec.inputs}),
        judged.view.bindings(calls),
        true_columns({name: asked[calls] for name, asked in judged.wanted.items()}),
        *[column[calls].tolist() for column in judged.compute],
        [recipe[i] for i in first.tolist()],
        [arrays[i] for i in first.tolist()],
        strict=False,
    )
    exact = frozenset(spec.exact)
    places, ordered = rows[order], [ids[i] for i in order.tolist()]
    for start, end, step, by_name, held, inputs, names, outputs, dtype, optional, *drawn in columns:
        axes = _turned(formatted, by_name) if formatted else {}
        if axes:
            by_name |= {name: _in_order(by_name[name], order) for name, order in axes.items()}
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
                {name: order for name, order in axes.items() if name in judged.wanted},
            )


def _turned(
    formatted: Sequence[Parameter], tensors: Mapping[str, TensorDesc]
) -> dict[str, tuple[int, ...]]:
    """Of parameters whose axes formats may order, the tensors whose format orders them otherwise
    than the letters, and which axis each one is.
    """
    turned = {
        p.name: p.turned(len(desc.shape), desc.format)
        for p in formatted
        if (desc := tensors.get(p.name)) is not None
    }
    return {name: axes for name, axes in turned.items() if axes is not None}


def _in_order(desc: TensorDesc, axes: tuple[int, ...]) -> TensorDesc:
    """The same elements with the axes in the order of the letters."""
    order = np.argsort(axes).tolist()
    shape, steps = (tuple(of[axis] for axis in order) for of in (desc.shape, desc.steps))
    return replace(desc, shape=shape, strides=steps, storage_shape=desc.storage_extents)


def _digest(given: Mapping[str, ArrayLike]) -> str:
    """A digest of given values; the empty string where none are given."""
    if not given:
        return ""
    parts = [name.encode() + np.asarray(values).tobytes() for name, values in sorted(given.items())]
    return hashlib.blake2b(b"\0".join(parts)).hexdigest()
