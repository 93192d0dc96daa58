"""Batches -> arrays: inputs, goldens and bounds of many small batches at a time.

What is done element by element (drawing, rounding, bounding) is done once for all batches that ask for the same; only the
kernels run batch by batch. No bit depends on which batches come together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from opgen.computation import kernels
from opgen.computation.inputs import SMALL, Inputs, fill
from opgen.computation.inputs import Arrays as Arrays
from opgen.golden import kernel
from opgen.numbers.arrays import Array
from opgen.numbers.bounds import Limits, Sums, bounds, certain_overflows, chain_of
from opgen.numbers.exact import golden_exact, magnitude_exact
from opgen.numbers.formats import DTYPES
from opgen.numbers.readings import as_far_apart, share, without_subnormals
from opgen.numbers.recipes import RECIPES
from opgen.numbers.rounding import kept_in, stored
from opgen.suites.batch import Batch


class _Output(NamedTuple):
    """An output of a batch whose bound is to be found. ``free``: where an Inf comes in, anything goes."""

    arrays: Arrays
    name: str
    golden: Array
    magnitude: Array
    share: Array | None
    depth: int
    quantum: float | None
    gain: float
    free: bool


_Tensors: TypeAlias = Mapping[str, "Array | None"]
_Groups: TypeAlias = dict[tuple[Any, ...], list[_Output]]
"""Outputs that are bounded together, by dtype, by the dtype that they are rounded to before that, and by what tells them apart."""


def compute(batches: Sequence[Batch], seed: int) -> list[Arrays]:
    """The arrays of each batch, some large ones or many small ones; scratch memory is that of all together."""
    groups: _Groups = {}
    with np.errstate(all="ignore"):
        depths = [kernels.depths(batch) for batch in batches]
        deepest = [max(depth.values(), default=1) for depth in depths]
        found = fill(batches, deepest, seed)
        order = sorted(range(len(batches)), key=lambda i: batches[i].op)  # a processor, too, is quicker at the same again
        for i in order:
            _add_outputs(groups, found[i], depths[i], deepest[i])
        for (dtype, rounded_to, *_), outputs in groups.items():
            _bound(dtype, rounded_to, outputs)
    return [inputs.arrays for inputs in found]


def _add_outputs(groups: _Groups, inputs: Inputs, depths: Mapping[str, int], deepest: int) -> None:
    """Goldens and sums of absolute terms; most from inputs as they are computed with, some as they are read."""
    batch, module, seen = inputs.batch, kernel(inputs.batch.op), inputs.seen
    free, gain = getattr(module, "DIFFERENCES", ()), module.gain(seen) if hasattr(module, "gain") else 1.0
    apart = [out for out in batch.wanted if out in batch.exact] if inputs.rounded or not _one_call(batch) else []
    quanta = _quanta(inputs)
    together, perhaps = [out for out in batch.wanted if out not in apart], inputs.rounded if batch.optional else {}
    for outputs, tensors, otherwise in ((together, seen, perhaps), (apart, inputs.values, {})):
        if not outputs:
            continue
        goldens, magnitudes = _evaluate(batch, tensors, outputs, deepest)
        shares = _shares(inputs, tensors, otherwise, {out: magnitudes[out] for out in outputs}, deepest)
        for out in outputs:
            dtype, golden = batch.tensors[out].dtype, goldens[out]
            rounded_to = None if out in batch.exact else kept_in(batch.compute, dtype)
            alone = id(golden) if golden.size > SMALL else 0
            moved = shares.get(out)
            groups.setdefault((dtype, rounded_to, moved is None, alone), []).append(
                _Output(inputs.arrays, out, golden, magnitudes[out], moved, depths[out], quanta[out], gain, out in free)
            )


def _shares(inputs: Inputs, tensors: _Tensors, otherwise: _Tensors, magnitudes: Mapping[str, Array], depth: int) -> dict[str, Array]:
    """How far outputs of these magnitudes may move where a device may read ``tensors`` in two ways: subnormals as zeros, and any as
    those of ``otherwise``. Empty where it may not."""
    if not inputs.subnormal and not otherwise:
        return {}
    batch, most, kept = inputs.batch, magnitudes, magnitudes
    if otherwise:
        _, most = _evaluate(batch, as_far_apart(tensors, otherwise), magnitudes, depth)
    if inputs.subnormal:
        _, kept = _evaluate(batch, without_subnormals(tensors, batch.inputs, batch.compute), magnitudes, depth)
    return {out: share(most[out], kept[out]) for out in magnitudes}


def _one_call(batch: Batch) -> bool:
    """Whether all sums are exact as they are, since all data are on a grid."""
    return RECIPES[batch.recipe].on_grid and not batch.given


def _evaluate(
    batch: Batch, seen: _Tensors, outputs: Collection[str], depth: int
) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """(goldens, sums of absolute terms), with the same bits on every machine. FileError where the kernel is wrong."""
    try:
        goldens, magnitudes = _evaluated(batch, seen, outputs, depth)
    except Exception as error:
        raise kernels.blamed(batch, "golden or magnitude", error) from error
    kernels.check(batch, {"golden": goldens, "magnitude": magnitudes}, outputs)
    return goldens, magnitudes


def _evaluated(
    batch: Batch, seen: _Tensors, outputs: Collection[str], depth: int
) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """(goldens, sums of absolute terms) as the kernel gives them; for small data one call gives both."""
    module = kernel(batch.op)
    partners = getattr(module, "PARTNERS", None)
    if partners is not None and not _one_call(batch):
        return (
            golden_exact(module.golden, seen, batch.names, outputs, depth, partners, batch.gradient),
            magnitude_exact(module.golden, seen, batch.names, outputs, depth, partners, batch.gradient),
        )
    both = getattr(module, "both", None)
    if both is not None and max([value.size for value in seen.values() if value is not None]) <= SMALL:
        found: tuple[dict[str, Array], dict[str, Array]] = both(seen, batch.names, outputs)
        return found
    return module.golden(seen, batch.names, outputs), module.magnitude(seen, batch.names, outputs)


def _quanta(inputs: Inputs) -> dict[str, float | None]:
    """What all terms of each output's sums are multiples of; None where nothing is known."""
    batch, numbers = inputs.batch, inputs.numbers
    result: dict[str, float | None] = dict.fromkeys(batch.wanted)
    if batch.given:
        return result
    for out, factors in _factors(batch).items():
        quanta = [numbers[name].quantum for name in factors if name in numbers]
        known = [quantum for quantum in quanta if quantum is not None]
        result[out] = prod(known) if len(known) == len(quanta) else None
    return result


def _factors(batch: Batch) -> dict[str, tuple[str, ...]]:
    """The tensors whose product each term is, of the wanted outputs that are plain sums of products."""
    module = kernel(batch.op)
    partners, factors = getattr(module, "PARTNERS", None), getattr(module, "FACTORS", {})
    if partners is not None:
        factors = {out: (batch.gradient, *([partners[out]] if out in partners else [])) for out in batch.wanted} | factors
    return {out: factors[out] for out in batch.wanted if out in factors}


def _bound(dtype: str, rounded_to: str | None, outputs: Sequence[_Output]) -> None:
    """Store the goldens and bounds of outputs that are written in the same formats."""
    chain = chain_of(dtype, None, rounded_to)
    shares = [output.share for output in outputs if output.share is not None]
    sums = Sums(
        np.concatenate([output.golden for output in outputs], axis=None),
        np.concatenate([output.magnitude for output in outputs], axis=None),
        np.concatenate(shares, axis=None) if shares else None,
    )
    rows = [(output.golden.size, output.depth, output.quantum, output.gain) for output in outputs]
    goldens, limits = stored(sums.golden + 0.0, DTYPES[dtype].golden), bounds(chain, sums, Limits.of(rows))  # never -0
    lost = ~np.isfinite(sums.golden)
    if dtype == "FLOAT16" and (np.abs(goldens) > 60000).any():  # whether what is only kept in FLOAT16 overflows, nobody says
        over = certain_overflows(chain, sums, Limits.of([(size, depth, None, 1.0) for size, depth, _, _ in rows]))
        goldens[over], limits[over] = np.copysign(np.inf, goldens[over]), 0
        lost |= over
    if lost.any():
        lost &= ~np.isnan(sums.magnitude)  # what a NaN comes into is NaN, however it is computed
        limits[lost & np.repeat([output.free for output in outputs], [row[0] for row in rows])] = np.inf
    at = 0
    for output in outputs:
        shape, cut = output.golden.shape, slice(at, at := at + output.golden.size)
        output.arrays[output.name, "golden"], output.arrays[output.name, "bound"] = goldens[cut].reshape(shape), limits[cut].reshape(shape)
