"""Large cases of which some elements are looked at, a few rows of the first axis at a time: no
tensor is whole in memory that the file does not hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TypeAlias

import numpy as np

from opgen.bundle.format.digest import Digest, Digested
from opgen.bundle.write.blocks import Arrays
from opgen.generation import bounding, computing, kernels
from opgen.generation.filling import fill
from opgen.generation.inputs import Inputs, is_saved
from opgen.generation.kernels import Parts
from opgen.generation.numbers import numbers_of
from opgen.generation.sampling import Sampled, places, sums
from opgen.generation.seeding import unheld
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES
from opgen.numerics.recipes import RECIPES
from opgen.numerics.rounding import holds
from opgen.numerics.signs import signs
from opgen.suite.batch import Batch

LARGE = 1 << 22
"""Elements of a case from which on it is cut."""
ROOM = 1 << 21
"""Elements of the tensors that are cut, in all rows that are computed together, if others do not
have more; of one row there may be more."""

_Known: TypeAlias = tuple[tuple[Array, Array, Array], tuple[Array, Array] | None]
"""Golden, magnitude and share of an output, or of what is looked at; and of the latter the signed
sums, and those of absolute terms."""


def compute(
    batches: Sequence[Batch],
    seed: int,
    samples: int = 0,
    seeded: bool = False,
    large: int = LARGE,
    room: int = ROOM,
) -> list[Arrays]:
    """What :func:`opgen.generation.computing.compute` returns, with the same bits, in less memory
    for ``large`` batches; ``seeded``: the file does not hold what it can say how to draw.
    """
    cut = [cuttable(batch, large) if samples else () for batch in batches]
    others = [batch for batch, tensors in zip(batches, cut, strict=True) if not tensors]
    rest = iter(computing.compute(others, seed, samples))
    return [
        _by_rows(batch, tensors, seed, samples, seeded, room) if tensors else next(rest)
        for batch, tensors in zip(batches, cut, strict=True)
    ]


def cuttable(batch: Batch, large: int = LARGE) -> tuple[str, ...]:
    """The tensors of which a few rows are computed at a time; none where a batch is small, or what
    its inputs hold depends on more than a row.
    """
    kernel, descs = Parts.of(batch.op), batch.tensors
    if batch.elements < large or len(batch.ids) > 1 or kernel.by_rows is None:
        return ()
    cut = kernel.by_rows(batch.names, {name: desc.shape for name, desc in descs.items()})
    tensors = tuple(name for name in cut if name in descs)
    numbers = numbers_of(batch, kernel, 1)
    saved = {name for name in batch.inputs if is_saved(batch, name)}
    dtypes = {name: DTYPES[descs[name].dtype] for name in (*batch.inputs, *batch.wanted)}
    fits = (
        RECIPES[batch.recipe].on_grid
        and not (batch.given or batch.turned)
        and len({descs[name].shape[:1] for name in tensors}) == 1
        and all(descs[name].plain and len(descs[name].shape) > 1 for name in tensors)
        and all(numbers[name].alike is not None for name in batch.inputs)
        and saved <= {*tensors}
        and not any(dtypes[name].whole for name in batch.wanted)
        and not any(dtype.complex for dtype in dtypes.values())
    )
    once = not (batch.exact or batch.optional) or all(
        dtypes[name].whole or holds(batch.compute, descs[name].dtype) for name in batch.inputs
    )
    return tensors if fits and once else ()


def part_of(batch: Batch, tensors: Sequence[str], count: int = 0, room: int = ROOM) -> Batch:
    """A case with ``count`` rows of some tensors, by default as many as are computed together: what
    is not cut is drawn again with each of them, and has no more elements.
    """
    descs = dict(batch.tensors)
    if not count:
        of_one, rows = (
            sum(prod(descs[name].shape[1:]) for name in tensors),
            descs[tensors[0]].shape[0],
        )
        room = max(room, batch.elements - rows * of_one)
        count = min(rows, max(1, room // max(of_one, 1)))
    for name in tensors:
        descs[name] = replace(descs[name], shape=(count, *descs[name].shape[1:]))
    return replace(
        batch,
        tensors=descs,
        names=batch.names | ({"N": count} if "N" in batch.names else {}),
        elements=sum(prod(desc.shape) for desc in descs.values()),
    )


def held(batch: Batch, tensors: Collection[str], seeded: bool) -> set[str]:
    """Of the tensors that are cut, the inputs that the file holds."""
    return {*tensors} & {*batch.inputs} - (unheld(batch) if seeded else set())


def _by_rows(
    batch: Batch, tensors: Sequence[str], seed: int, samples: int, seeded: bool, room: int
) -> Arrays:
    descs, depths, looked = batch.tensors, kernels.depths(batch), places(batch, samples)
    storage = {
        name: np.empty((1, prod(descs[name].shape)), dtype=DTYPES[descs[name].dtype].numpy)
        for name in held(batch, tensors, seeded)
    }
    digests = {name: Digest() for name in batch.inputs if name in tensors and name not in storage}
    known: dict[str, list[_Known]] = {out: [] for out in batch.wanted}
    most, gains, extent = dict[str, float](), [1.0], descs[tensors[0]].shape[0]
    count = part_of(batch, tensors, room=room).tensors[tensors[0]].shape[0]
    with np.errstate(all="ignore"):
        for start in range(0, extent, count):
            some = part_of(batch, tensors, min(count, extent - start))
            before = {name: start * prod(descs[name].shape[1:]) for name in tensors}
            (inputs,) = fill([some], [max(depths.values())], seed, before)
            for name in (*storage, *digests):
                rows = inputs.arrays.pop((name, "input"))
                if name in storage:
                    storage[name][:, before[name] : before[name] + rows.size] = rows
                else:
                    digests[name].update(rows.view(np.uint8).data)
            for out, one in _of_rows(inputs, looked, before, start, max(depths.values())).items():
                known[out].append(one)
            gains += [gain(inputs.seen, some.names)] if (gain := inputs.parts.gain) else []
            for name, size in computing.largest(inputs, inputs.seen).items():
                most[name] = max(size, most.get(name, 0.0))
        groups: bounding.Groups = {}
        inputs.batch, inputs.places = batch, looked
        for out, parts in known.items():
            elements, signed = zip(*parts, strict=True)
            golden, magnitude, share = (
                np.concatenate(rows, 1) if out in tensors else np.add.reduce(rows)
                for rows in zip(*elements, strict=True)
            )
            moved = share if share.any() else None
            bounding.add_output(
                groups, inputs, out, (golden, magnitude, moved), depths[out], max(gains)
            )
            if out in looked:
                added, sizes = map(np.add.reduce, zip(*signed, strict=True))
                inputs.arrays[out, "places"] = looked[out][None]
                inputs.arrays[out, "sums"] = computing.bounded_sums(
                    inputs, out, (added, sizes), depths[out], max(gains), most, moved is not None
                )
        bounding.bound(groups)
    return {
        **inputs.arrays,
        **{(name, "input"): whole for name, whole in storage.items()},
        **{
            (name, "input"): Digested(
                DTYPES[descs[name].dtype].numpy, prod(descs[name].shape), digest.digest()
            )
            for name, digest in digests.items()
        },
    }


def _of_rows(
    inputs: Inputs,
    looked: Mapping[str, Array],
    before: Mapping[str, int],
    start: int,
    depth: int,
) -> dict[str, _Known]:
    """What is known of each output from the rows from ``start`` on, which ``before`` elements of
    the tensors that are cut stand in front of.
    """
    batch, kernel, seen, known = inputs.batch, inputs.parts, inputs.seen, dict[str, _Known]()
    here = dict(looked)
    for out in looked.keys() & before.keys():
        flat = looked[out] - before[out]
        here[out] = flat[(flat >= 0) & (flat < prod(batch.tensors[out].shape))]
    if kernel.at is not None:
        inputs.places, inputs.parts = here, Sampled(kernel, here).as_parts()
    results = computing.evaluate(inputs, seen, batch.wanted, depth)
    moved = (
        computing.shares_of(inputs, seen, {}, results, batch.wanted, depth)
        if inputs.subnormal
        else {out: np.zeros_like(golden) for out, golden in results[0].items()}
    )
    for out in batch.wanted:
        elements, signed = (results[0][out], results[1][out], moved[out]), None
        if out in looked:
            weights = signs(batch.tensors[out].shape)
            if out in before:
                weights[0] = signs((start + weights[0].shape[1],))[0][:, start:]
            signed = sums(kernel, seen, batch.names, out, weights, elements[:2])
            if kernel.at is None:
                golden, size, share = (array.reshape(1, -1)[:, here[out]] for array in elements)
                elements = golden, size, share
        known[out] = elements, signed
    return known
