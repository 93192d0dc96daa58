"""Batches -> arrays: inputs, goldens and bounds of many small batches at a time.

What is done element by element (drawing, rounding, bounding) is done once for all batches that ask for the same; only the
kernels run batch by batch. No bit depends on which batches come together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from opgen.batch import Batch
from opgen.bounds import Limits, bounds, certain_overflow
from opgen.exact import GRADIENT, golden_exact, magnitude_exact
from opgen.fill import Source, draw_alike
from opgen.flushing import flushed_magnitude, has_subnormals
from opgen.golden import kernel
from opgen.numerics import DTYPES, Array, by_parts, golden_dtype, rounded, stored
from opgen.recipes import RECIPES, quantum
from opgen.slot import Slot
from opgen.storage import given, through

PLANTED = ("nonfinite", "overflow")
"""Recipes that plant values which are or become Inf or NaN."""
SMALL = 1 << 13
"""Elements of a tensor from which on it gains nothing from company."""
Arrays: TypeAlias = dict[tuple[str, str], Array]
"""Everything that is stored of a batch: (name, role) -> (B, ...); inputs as whole storages."""


@dataclass(slots=True)
class _Work:
    """A batch under way. ``values`` are its inputs as stored, ``seen`` as they are computed with, None for null pointers."""

    batch: Batch
    depths: dict[str, int]
    slots: dict[str, Slot]
    values: dict[str, Array | None]
    seen: dict[str, Array | None]
    subnormal: bool = False
    arrays: Arrays = field(default_factory=dict)


class _Output(NamedTuple):
    """An output of a batch whose bound is to be found. ``free``: where it is not finite, anything goes."""

    arrays: Arrays
    name: str
    golden: Array
    magnitude: Array
    flushed: Array | None
    limits: Limits
    free: bool


def compute(batches: Sequence[Batch], seed: int) -> list[Arrays]:
    """The arrays of each batch, some large ones or many small ones; scratch memory is that of all together."""
    works = [_begun(batch) for batch in batches]
    with np.errstate(all="ignore"):
        _fill(works, Source(seed))
        groups: dict[tuple[Any, ...], list[_Output]] = {}
        for work in works:
            for output in _outputs(work):
                alone = id(output.golden) if output.golden.size > SMALL else 0
                alike = (output.limits.output, output.limits.through, output.flushed is None, alone)
                groups.setdefault(alike, []).append(output)
        for outputs in groups.values():
            _bound(outputs)
    return [work.arrays for work in works]


def _begun(batch: Batch) -> _Work:
    module = kernel(batch.op)
    shapes = {name: desc.shape for name, desc in batch.tensors.items()}
    depths = {out: module.depth(batch.names, shapes, out) for out in batch.wanted}
    deepest = max(depths.values(), default=1)
    nothing: dict[str, Array | None] = dict.fromkeys(batch.roles)
    return _Work(batch, depths, {name: _slot(batch, name, deepest) for name in batch.inputs}, nothing, dict(nothing))


def _slot(batch: Batch, name: str, deepest: int) -> Slot:
    desc = batch.tensors[name]
    role: Any = batch.roles.get(name, "operand")
    known = batch.compute in ("FLOAT16", "BFLOAT16", "HFLOAT32", "FLOAT")
    compute = batch.compute if known else DTYPES[desc.dtype].part.name
    places = _places(batch) if role == "gradient" and batch.recipe in PLANTED else None
    return Slot(name, desc.shape, desc.dtype, compute, max(deepest, 1), role, batch.factors, range=desc.range, places=places)


def _places(batch: Batch) -> tuple[int, ...] | None:
    """Where the gradient may hold what is not finite, as the kernel says: nowhere that padding may be multiplied by it."""
    places = getattr(kernel(batch.op), "places", None)
    if places is None:
        return None
    return tuple(places(batch.names, {name: desc.shape for name, desc in batch.tensors.items()}).tolist())


# inputs ---------------------------------------------------------------------------------------------------------------
def _fill(works: Sequence[_Work], source: Source) -> None:
    """Draw every input and round it; tensors that are drawn alike at once."""
    groups: dict[tuple[Any, ...], list[tuple[_Work, Slot]]] = {}
    for work in works:
        recipe = RECIPES[work.batch.recipe]
        for name, slot in work.slots.items():
            if name in work.batch.given:
                _keep([(work, slot)], given(work.batch, slot).reshape(-1))
                continue
            key = recipe.draw(slot.role).key
            alone = key is None or slot.count * len(work.batch.ids) > SMALL
            alike = (id(work), name) if alone or key is None else (recipe.name, slot.role, work.batch.compute, *key(slot))
            groups.setdefault(alike, []).append((work, slot))
    for some in groups.values():
        _keep(some, draw_alike(some[0][0].batch.recipe, source, [(work.batch.ids, slot) for work, slot in some]))


def _keep(some: Sequence[tuple[_Work, Slot]], flat: Array) -> None:
    """Hand out values that were drawn for several batches: as stored, and as they are computed with."""
    batch, dtype = some[0][0].batch, some[0][1].dtype
    storage = stored(flat, dtype)
    flat = storage.astype(DTYPES[dtype].wide)  # a value too large for storage is Inf there
    seen = _in_compute(flat, dtype, batch.compute)
    subnormal = has_subnormals(seen, batch.compute)
    at = 0
    for work, slot in some:
        desc, shape = work.batch.tensors[slot.tensor], (len(work.batch.ids), *slot.shape)
        cut = slice(at, at := at + prod(shape))
        buffer, value, now = storage[cut].reshape(shape[0], prod(slot.shape)), flat[cut].reshape(shape), seen[cut].reshape(shape)
        if desc.strides is not None or desc.offset:
            buffer, value = through(buffer, desc)
            now = _in_compute(value, dtype, work.batch.compute)
        work.arrays[slot.tensor, "input"], work.values[slot.tensor], work.seen[slot.tensor] = buffer, value, now
        work.subnormal |= subnormal


def _in_compute(values: Array, storage: str, to: str) -> Array:
    """One rounding to the compute dtype; none where it is the storage dtype or wider."""
    if to == storage or DTYPES[storage].complex or storage == "DOUBLE" or to == "FLOAT":
        return values
    return rounded(values, to)


# outputs --------------------------------------------------------------------------------------------------------------
def _outputs(work: _Work) -> Iterator[_Output]:
    """Goldens and sums of absolute terms; most from inputs rounded to the compute dtype, some from stored ones."""
    batch, module = work.batch, kernel(work.batch.op)
    free = getattr(module, "DIFFERENCES", ())
    cube = tuple(out for out in batch.wanted if out not in batch.exact)
    exact = tuple(out for out in batch.wanted if out in batch.exact)
    for outputs, seen in ((cube, work.seen), (exact, work.values)):
        if not outputs:
            continue
        goldens, sizes = _evaluate(batch, seen, outputs, max(work.depths.values(), default=1))
        flushed = None
        if GRADIENT in seen and (work.subnormal or outputs is exact):
            formats = {name: batch.compute if name in batch.tensors else "FLOAT" for name in seen}
            flushed = flushed_magnitude(module.magnitude, seen, batch.names, outputs, formats)
        gain = _gain(seen)
        for out in outputs:
            dtype = batch.tensors[out].dtype
            halved = outputs is cube and batch.compute in ("FLOAT16", "BFLOAT16") and dtype != batch.compute
            through = batch.compute if halved else None
            limits = Limits(work.depths[out], dtype, None, through, _quantum(batch, work.slots, out), gain)
            yield _Output(work.arrays, out, goldens[out], sizes[out], None if flushed is None else flushed[out], limits, out in free)


def _evaluate(
    batch: Batch, seen: Mapping[str, Array | None], outputs: tuple[str, ...], depth: int
) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """(goldens, sums of absolute terms), with the same bits on every machine.

    Where terms are plain products, the second are the goldens of absolute values: for small data one call gives both.
    """
    module = kernel(batch.op)
    partners = getattr(module, "PARTNERS", None)
    if partners is None:
        return module.golden(seen, batch.names, outputs), module.magnitude(seen, batch.names, outputs)
    if RECIPES[batch.recipe].on_grid and not batch.given:
        if max(value.size for value in seen.values() if value is not None) > SMALL:
            return module.golden(seen, batch.names, outputs), module.magnitude(seen, batch.names, outputs)
        both = {name: None if value is None else np.concatenate([value, by_parts(np.abs, value)]) for name, value in seen.items()}
        found, count = module.golden(both, batch.names, outputs), len(batch.ids)
        return {out: value[:count] for out, value in found.items()}, {out: value[count:] for out, value in found.items()}
    return (
        golden_exact(module.golden, seen, batch.names, outputs, depth, partners),
        magnitude_exact(module.golden, seen, batch.names, outputs, depth, partners),
    )


def _quantum(batch: Batch, slots: Mapping[str, Slot], out: str) -> float | None:
    """What all terms of an output's sums are multiples of; None where nothing is known."""
    partners = getattr(kernel(batch.op), "PARTNERS", None)
    if partners is None or batch.compute == "HFLOAT32" or batch.given:
        return None
    product = 1.0
    for name in (GRADIENT, partners.get(out)):
        if name is not None and name in slots:
            step = quantum(batch.recipe, slots[name])
            if step is None:
                return None
            product *= step
    return product


def _gain(seen: Mapping[str, Array | None]) -> float:
    """The largest factor that an intermediate is multiplied by after the sums: rstd in a normalisation."""
    rstd = seen.get("rstd")
    return max(1.0, float(np.abs(rstd).max())) if rstd is not None and rstd.size else 1.0


def _bound(outputs: Sequence[_Output]) -> None:
    """Store the goldens and bounds of outputs that are written in the same formats."""
    first = outputs[0].limits
    limits = bounds(
        [output.limits for output in outputs],
        [output.golden for output in outputs],
        [output.magnitude for output in outputs],
        [output.flushed for output in outputs],
    )
    goldens = np.concatenate([output.golden.reshape(-1) for output in outputs]) + 0.0  # never -0
    flat, at = stored(goldens, golden_dtype(first.output)), 0
    overflows = "FLOAT16" in (first.output, first.through) and bool((np.abs(goldens) > 60000).any())
    for output, limit in zip(outputs, limits, strict=True):
        cut = slice(at, at := at + output.golden.size)
        golden = flat[cut].reshape(output.golden.shape)
        if overflows:
            over = certain_overflow(output.golden, output.magnitude, output.limits.depth, first.output, through=first.through)
            golden[over] = np.copysign(np.inf, golden[over])
            limit[over] = np.inf if output.free else 0
        if output.free:
            limit[~np.isfinite(output.golden)] = np.inf
        output.arrays[output.name, "golden"], output.arrays[output.name, "bound"] = golden, limit
