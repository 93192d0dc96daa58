"""Goldens and sums of absolute terms -> what is stored of outputs: their values in their dtype, and
the bounds. It is done once for all outputs of one format.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from opgen.generation.inputs import SMALL, Arrays, Inputs
from opgen.numerics.arrays import Array, joined, one_nan, reals, turned
from opgen.numerics.bounds import Limits, Sums, bounded, certain_overflows
from opgen.numerics.formats import DTYPES
from opgen.numerics.optional_rounding import beyond_float
from opgen.numerics.rounding import kept_in
from opgen.numerics.rounding_model import RoundingModel


class Unbounded(NamedTuple):
    """An output of a batch whose bound is to be found. ``free``: where an Inf comes in, anything
    goes.
    """

    arrays: Arrays
    name: str
    golden: Array
    magnitude: Array
    share: Array | None
    depth: int
    quantum: float | None
    gain: float
    free: bool


Groups: TypeAlias = dict[tuple[Any, ...], list[Unbounded]]
"""Outputs that are bounded together, by dtype, by the dtype that they are rounded to before that,
and by what tells them apart."""


def add_output(
    groups: Groups,
    inputs: Inputs,
    out: str,
    known: tuple[Array, Array, Array | None],
    depth: int,
    gain: float,
) -> None:
    """Let an output be bounded with others, of whose elements golden, magnitude and share are
    ``known``.
    """
    batch = inputs.batch
    dtype, quantum, axes = batch.tensors[out].dtype, quantum_of(inputs, out), batch.turned.get(out)
    golden, magnitude, moved = known
    if axes is not None:
        golden, magnitude = turned(golden, axes), turned(magnitude, axes)
        moved = None if moved is None else turned(moved, axes)
    if quantum is None and DTYPES[dtype].whole and beyond_float(inputs.values):
        magnitude = np.full_like(magnitude, np.inf)
    unrounded = out in batch.exact and not inputs.rounded
    rounded_to = None if unrounded else kept_in(batch.compute, dtype)
    alone = id(golden) if golden.size > SMALL else 0
    output = Unbounded(
        inputs.arrays,
        out,
        golden,
        magnitude,
        moved,
        depth,
        quantum,
        gain,
        out in inputs.parts.differences,
    )
    key = dtype, rounded_to, moved is None, quantum is None, alone
    groups.setdefault(key, []).append(output)


def bound(groups: Groups) -> None:
    """Store the goldens and bounds of all outputs."""
    while groups:
        (dtype, rounded_to, *_), outputs = groups.popitem()
        _bound(dtype, rounded_to, outputs)


def quantum_of(inputs: Inputs, out: str) -> float | None:
    """What all terms of an output's sums, if these are plain sums of products, are multiples of;
    None where nothing is known.
    """
    batch, parts = inputs.batch, inputs.parts
    if batch.given and not DTYPES[batch.tensors[batch.gradient].dtype].whole:
        return None
    factors = parts.factors.get(out)
    if factors is None:
        if parts.partners is None:
            return None
        factors = (batch.gradient, parts.partners.get(out, ""))
    product = 1.0
    for name in factors:
        known = inputs.numbers.get(name)
        if known is not None:
            if known.quantum is None:
                return None
            product *= known.quantum
    return product


def _bound(dtype: str, rounded_to: str | None, outputs: Sequence[Unbounded]) -> None:
    """Store the goldens and bounds of outputs that are written in the same formats."""
    outputs = sorted(outputs, key=lambda output: output.golden.size)  # short ones stand together
    arrays, names, golden, magnitude, share, depth, quantum, gain, free = zip(*outputs, strict=True)
    exact = DTYPES[dtype].whole and quantum[0] is not None  # then nothing leaves whole numbers
    sizes = [array.size for array in golden]
    model = RoundingModel.of(dtype, "DOUBLE" if exact else None, rounded_to)
    sums = Sums(golden, magnitude, None if share[0] is None else share)
    goldens = np.empty(sum(sizes), dtype=DTYPES[DTYPES[dtype].golden].numpy)
    limits = np.empty(len(goldens), dtype=np.complex64 if sums.complex else np.float32)
    kept, bounds, finite = reals(goldens), reals(limits), True
    for place, values, limit in bounded(model, sums, Limits.of(sizes, depth, quantum, gain)):
        np.add(values, 0.0, out=kept[place], casting="same_kind")  # never -0
        bounds[place] = limit
        finite = finite and bool(np.isfinite(values).all())
    over = np.zeros(len(goldens), dtype=bool)
    if (
        dtype == "FLOAT16" and (np.abs(goldens) > 60000).any()
    ):  # whether what is only kept in FLOAT16 overflows, nobody says
        over = certain_overflows(
            model, sums, Limits.of(sizes, depth, [None] * len(sizes), [1.0] * len(sizes))
        )
        goldens[over], limits[over] = np.copysign(np.inf, goldens[over]), 0
    if not finite or over.any():
        lost = (over | ~np.isfinite(joined(golden))) & ~np.isnan(
            joined(magnitude)
        )  # what a NaN comes into is NaN, however computed
        limits[lost & np.repeat(free, sizes)] = np.inf
        one_nan(kept)
    begin = 0
    for to, name, array, size in zip(arrays, names, golden, sizes, strict=True):
        shape, cut = array.shape, slice(begin, begin := begin + size)
        to[name, "golden"], to[name, "bound"] = (
            goldens[cut].reshape(shape),
            limits[cut].reshape(shape),
        )
