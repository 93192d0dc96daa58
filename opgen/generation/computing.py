"""Batches -> arrays: inputs, goldens and bounds of many small batches at a time.

What is done element by element (drawing, rounding, bounding) is done once for all batches that ask
for the same; only the kernels run batch by batch. No bit depends on which batches come together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from opgen.generation import kernels
from opgen.generation.inputs import SMALL, Arrays, Inputs, fill
from opgen.generation.kernels import Parts
from opgen.generation.sampling import Sampled, bound_of_sums, places, sums
from opgen.numerics.arrays import Array, joined, one_nan, reals, turned
from opgen.numerics.bounds import Limits, Sums, bounded, certain_overflows
from opgen.numerics.chain import chain_of
from opgen.numerics.exact import golden_exact, magnitude_exact
from opgen.numerics.formats import DTYPES
from opgen.numerics.readings import as_far_apart, beyond_float, share, without_subnormals
from opgen.numerics.rounding import kept_in
from opgen.numerics.signs import DRAWS, signs
from opgen.suite.batch import Batch

VERSION = 2
"""Raised by hand whenever what is made of drawn data and of goldens has other bits; a test sees to
it."""


class _Output(NamedTuple):
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


_Tensors: TypeAlias = Mapping[str, "Array | None"]
_Outputs: TypeAlias = Mapping[str, Array]
Groups: TypeAlias = dict[tuple[Any, ...], list[_Output]]
"""Outputs that are bounded together, by dtype, by the dtype that they are rounded to before that,
and by what tells them apart."""


def compute(batches: Sequence[Batch], seed: int, samples: int = 0) -> list[Arrays]:
    """The arrays of each batch, some large ones or many small ones; scratch memory is that of all
    together. ``samples``: of each output at most so many elements, and their places; 0: all.
    """
    groups: Groups = {}
    with np.errstate(all="ignore"):
        depths = [kernels.depths(batch) for batch in batches]
        deepest = [max(depth.values(), default=1) for depth in depths]
        filled = fill(batches, deepest, seed)
        for inputs in filled if samples else ():
            _sample(inputs, samples)
        order = sorted(
            range(len(batches)), key=lambda i: batches[i].op
        )  # a processor, too, is quicker at the same again
        for i in order:
            _add_outputs(groups, filled[i], depths[i], deepest[i])
        arrays = [inputs.arrays for inputs in filled]
        del filled  # what bounds are made in comes out of the memory of what is needed no more
        bound(groups)
    return arrays


def _sample(inputs: Inputs, samples: int) -> None:
    """Let an output with more elements be computed at some places."""
    inputs.places = places(inputs.batch, samples)
    if inputs.places:
        inputs.parts = Sampled(inputs.parts, inputs.places).as_parts()
    for out, at in inputs.places.items():
        inputs.arrays[out, "places"] = np.tile(at, (len(inputs.batch.ids), 1))


def _sums(inputs: Inputs, seen: _Tensors, out: str, depth: int, moved: bool) -> Array:
    """(B, 2, draws) signed sums over an output of which some elements are looked at, and how far a
    correct device's may be from them.
    """
    batch = inputs.batch
    desc, whole = batch.tensors[out], Parts.of(batch.op)
    if DTYPES[desc.dtype].complex:
        return np.repeat([[0.0], [np.inf]], DRAWS, axis=1)[None].repeat(len(batch.ids), axis=0)
    known = sums(whole, seen, batch.names, out, signs(desc.shape))
    gain = whole.gain(seen, batch.names) if whole.gain else 1.0
    return bounded_sums(inputs, out, known, depth, gain, largest(inputs, seen), moved)


def bounded_sums(
    inputs: Inputs,
    out: str,
    known: tuple[Array, Array],
    depth: int,
    gain: float,
    most: Mapping[str, float],
    moved: bool,
) -> Array:
    """(B, 2, draws) signed sums over an output, and how far a correct device's may be from them:
    Inf where a device may read inputs in two ways (``moved``). ``known`` are the sums and those of
    absolute terms, ``most`` the sizes of inputs (:func:`largest`).
    """
    batch, whole, (sums, magnitude) = inputs.batch, Parts.of(inputs.batch.op), known
    limits = Limits.of([1], [depth], [_quantum(inputs, out)], [gain])
    desc, unrounded = batch.tensors[out], out in batch.exact and not inputs.rounded
    chain = chain_of(desc.dtype, None, None if unrounded else kept_in(batch.compute, desc.dtype))
    of_one = np.inf
    if whole.partners is not None:
        factors = batch.gradient, whole.partners.get(out, "")
        of_one = prod([most[name] for name in factors if name in most], start=float(depth))
    bound = bound_of_sums(chain, magnitude, np.minimum(magnitude, of_one), desc.shape, limits)
    if moved or out in whole.differences or whole.partners is None and not inputs.on_grid:
        bound = np.full(len(sums), np.inf)
    bound[~np.isfinite(sums).all(axis=1)] = np.inf
    return np.stack([np.nan_to_num(sums), np.repeat(bound[:, None], sums.shape[1], axis=1)], axis=1)


def largest(inputs: Inputs, seen: _Tensors) -> dict[str, float]:
    """The largest absolute value of each tensor that is there, where terms are products."""
    if inputs.parts.partners is None:
        return {}
    return {
        name: float(max(array.max(initial=0.0), -array.min(initial=0.0)))
        for name, array in seen.items()
        if array is not None
    }


def _add_outputs(groups: Groups, inputs: Inputs, depths: Mapping[str, int], deepest: int) -> None:
    """Goldens and sums of absolute terms; most from inputs as they are computed with, some as they
    are read, and with bounds that allow for either.
    """
    batch, parts, seen, exact = inputs.batch, inputs.parts, inputs.seen, inputs.batch.exact
    together, apart = batch.wanted, tuple[str, ...]()
    if exact and (inputs.rounded or not inputs.on_grid):
        together, apart = (
            tuple([out for out in together if out not in exact]),
            tuple([out for out in together if out in exact]),
        )
    gain = parts.gain(seen, batch.names) if parts.gain else 1.0
    for outputs, tensors, otherwise in (
        (together, seen, inputs.rounded if batch.optional else {}),
        (apart, inputs.values, inputs.rounded),
    ):
        if not outputs:
            continue
        goldens, magnitudes = evaluate(inputs, tensors, outputs, deepest)
        shares = (
            shares_of(inputs, tensors, otherwise, (goldens, magnitudes), outputs, deepest)
            if inputs.subnormal or otherwise
            else {}
        )
        for out in outputs:
            if out in inputs.places:
                inputs.arrays[out, "sums"] = _sums(inputs, tensors, out, depths[out], bool(shares))
            add_output(
                groups,
                inputs,
                out,
                (goldens[out], magnitudes[out], shares.get(out)),
                depths[out],
                gain,
            )


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
    dtype, quantum, axes = batch.tensors[out].dtype, _quantum(inputs, out), batch.turned.get(out)
    golden, magnitude = turned(known[0], axes), turned(known[1], axes)
    if DTYPES[dtype].whole and quantum is None and beyond_float(inputs.values):
        magnitude = np.full_like(magnitude, np.inf)
    moved = None if known[2] is None else turned(known[2], axes)
    unrounded = out in batch.exact and not inputs.rounded
    rounded_to = None if unrounded else kept_in(batch.compute, dtype)
    alone = id(golden) if golden.size > SMALL else 0
    output = _Output(
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


def shares_of(
    inputs: Inputs,
    tensors: _Tensors,
    otherwise: _Tensors,
    found: tuple[_Outputs, _Outputs],
    outputs: Sequence[str],
    depth: int,
) -> dict[str, Array]:
    """How far outputs of these goldens and magnitudes may move where a device may read ``tensors``
    in two ways: subnormals as zeros, and any as those of ``otherwise``.
    """
    batch, (goldens, most) = inputs.batch, found
    others, kept = found
    if otherwise:
        _, most = evaluate(inputs, as_far_apart(tensors, otherwise), outputs, depth)
    if inputs.subnormal:
        others, kept = evaluate(
            inputs, without_subnormals(tensors, batch.inputs, batch.compute), outputs, depth
        )
    return {out: share(most[out], kept[out], goldens[out], others[out]) for out in outputs}


def evaluate(
    inputs: Inputs, seen: _Tensors, outputs: Collection[str], depth: int
) -> tuple[_Outputs, _Outputs]:
    """(goldens, sums of absolute terms), with the same bits on every machine. FileError where the
    kernel is wrong.
    """
    batch = inputs.batch
    try:
        goldens, magnitudes = _evaluated(inputs, seen, outputs, depth)
    except Exception as error:
        raise kernels.blamed(batch, "golden or magnitude", error) from error
    results = {"golden": goldens, "magnitude": magnitudes}
    kernels.check(batch, results, outputs, inputs.places)
    return goldens, magnitudes


def _evaluated(
    inputs: Inputs, seen: _Tensors, outputs: Collection[str], depth: int
) -> tuple[_Outputs, _Outputs]:
    """(goldens, sums of absolute terms) as the kernel gives them; one call gives both for small
    data, and where it makes no copies of factors.
    """
    batch, parts = inputs.batch, inputs.parts
    if parts.partners is not None and not inputs.on_grid:
        return (
            golden_exact(
                parts.golden, seen, batch.names, outputs, depth, parts.partners, batch.gradient
            ),
            magnitude_exact(
                parts.golden, seen, batch.names, outputs, depth, parts.partners, batch.gradient
            ),
        )
    if parts.both is not None and (inputs.small or parts.partners is None):
        both: tuple[dict[str, Array], dict[str, Array]] = parts.both(seen, batch.names, outputs)
        return both
    return parts.golden(seen, batch.names, outputs), parts.magnitude(seen, batch.names, outputs)


def _quantum(inputs: Inputs, out: str) -> float | None:
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


def _bound(dtype: str, rounded_to: str | None, outputs: Sequence[_Output]) -> None:
    """Store the goldens and bounds of outputs that are written in the same formats."""
    outputs = sorted(outputs, key=lambda output: output.golden.size)  # short ones stand together
    arrays, names, golden, magnitude, share, depth, quantum, gain, free = zip(*outputs, strict=True)
    exact = DTYPES[dtype].whole and quantum[0] is not None  # then nothing leaves whole numbers
    sizes = [array.size for array in golden]
    chain = chain_of(dtype, "DOUBLE" if exact else None, rounded_to)
    sums = Sums(golden, magnitude, None if share[0] is None else share)
    goldens = np.empty(sum(sizes), dtype=DTYPES[DTYPES[dtype].golden].numpy)
    limits = np.empty(len(goldens), dtype=np.complex64 if sums.complex else np.float32)
    kept, bounds, finite = reals(goldens), reals(limits), True
    for place, values, limit in bounded(chain, sums, Limits.of(sizes, depth, quantum, gain)):
        kept[place], bounds[place] = values + 0.0, limit  # never -0
        finite = finite and bool(np.isfinite(values).all())
    over = np.zeros(len(goldens), dtype=bool)
    if (
        dtype == "FLOAT16" and (np.abs(goldens) > 60000).any()
    ):  # whether what is only kept in FLOAT16 overflows, nobody says
        over = certain_overflows(
            chain, sums, Limits.of(sizes, depth, [None] * len(sizes), [1.0] * len(sizes))
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
