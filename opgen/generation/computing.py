"""Batches -> arrays: inputs, goldens and bounds of many small batches at a time.

What is done element by element (drawing, rounding, bounding) is done once for all batches that ask
for the same; only the kernels run batch by batch. No bit depends on which batches come together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from opgen.generation import kernels
from opgen.generation.bounding import Groups, add_output, bound, quantum_of
from opgen.generation.filling import fill
from opgen.generation.inputs import Arrays, Inputs
from opgen.generation.kernels import Parts
from opgen.generation.sampling import Sampled, bound_of_sums, places, sums
from opgen.numerics.arrays import Array
from opgen.numerics.bounds import Limits
from opgen.numerics.exact import golden_exact, magnitude_exact
from opgen.numerics.formats import DTYPES
from opgen.numerics.optional_rounding import as_far_apart, share, without_subnormals
from opgen.numerics.rounding import kept_in
from opgen.numerics.rounding_model import RoundingModel
from opgen.numerics.signs import DRAWS, signs
from opgen.suite.batch import Batch

VERSION = 2
"""Raised by hand whenever what is made of drawn data and of goldens has other bits; a test sees to
it."""

_COMPLEX = frozenset(name for name, dtype in DTYPES.items() if dtype.complex)
_Tensors: TypeAlias = Mapping[str, "Array | None"]
_Outputs: TypeAlias = Mapping[str, Array]


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


def _sums(inputs: Inputs, seen: _Tensors, out: str, depth: int, moved: Array) -> Array:
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
    moved: Array | bool,
) -> Array:
    """(B, 2, draws) signed sums over an output, and how far a correct device's may be from them:
    Inf where a device may read inputs in two ways (``moved``). ``known`` are the sums and those of
    absolute terms, ``most`` the sizes of inputs (:func:`largest`).
    """
    batch, whole, (sums, magnitude) = inputs.batch, Parts.of(inputs.batch.op), known
    limits = Limits.of([1], [depth], [quantum_of(inputs, out)], [gain])
    desc, unrounded = batch.tensors[out], out in batch.exact and not inputs.rounded
    model = RoundingModel.of(
        desc.dtype, None, None if unrounded else kept_in(batch.compute, desc.dtype)
    )
    of_one = np.inf
    if whole.partners is not None:
        factors = batch.gradient, whole.partners.get(out, "")
        of_one = prod([most[name] for name in factors if name in most], start=float(depth))
    bound = bound_of_sums(model, magnitude, np.minimum(magnitude, of_one), desc.shape, limits)
    if out in whole.differences or whole.partners is None and not inputs.on_grid:
        bound = np.full(len(sums), np.inf)
    bound[moved | ~np.isfinite(sums).all(axis=1)] = np.inf
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
                moved = _moved(inputs, tensors, otherwise)
                inputs.arrays[out, "sums"] = _sums(inputs, tensors, out, depths[out], moved)
            add_output(
                groups,
                inputs,
                out,
                (goldens[out], magnitudes[out], shares.get(out)),
                depths[out],
                gain,
            )


def _moved(inputs: Inputs, tensors: _Tensors, otherwise: _Tensors) -> Array:
    """(B,) bool: the cases of which a device may read an input in two ways."""
    moved = np.zeros(len(inputs.batch.ids), dtype=bool)
    flushed = (
        without_subnormals(tensors, inputs.batch.inputs, inputs.batch.compute)
        if inputs.subnormal
        else {}
    )
    for name, array in (*otherwise.items(), *flushed.items()):
        if array is not None and array is not tensors[name]:
            differs = (array != tensors[name]) & (array == array)  # noqa: PLR0124 NaN
            moved |= differs.reshape(len(moved), -1).any(axis=1)
    return moved


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
    """(goldens, sums of absolute terms), with the same bits on every machine; of real numbers in
    the dtype of their output. FileError where the kernel is wrong.
    """
    batch = inputs.batch
    try:
        golden, magnitude = both = _evaluated(inputs, seen, outputs, depth)
    except Exception as error:
        raise kernels.blamed(batch, "golden or magnitude", error) from error
    real = not _COMPLEX.isdisjoint([batch.tensors[out].dtype for out in outputs]) and not any(
        a is not None and np.iscomplexobj(a) for a in seen.values()
    )
    results = {"golden": golden, "magnitude": magnitude}
    kernels.check(batch, results, outputs, inputs.places, real)
    return (_converted(batch, golden), _converted(batch, magnitude)) if real else both


def _converted(batch: Batch, arrays: _Outputs) -> dict[str, Array]:
    """Arrays of outputs, complex where these are."""
    return {
        out: array.astype(DTYPES[batch.tensors[out].dtype].wide, copy=False)
        for out, array in arrays.items()
    }


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
