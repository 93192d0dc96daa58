"""Goldens of some elements of an output, where all of them are too many to compute or to keep."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from opgen.calls.stored_tensors import StoredTensors
from opgen.generation.kernels import Parts
from opgen.numerics.arrays import Array
from opgen.numerics.bounds import Limits
from opgen.numerics.rounding_model import RoundingModel
from opgen.numerics.signs import DRAWS, signed_sums
from opgen.numerics.splitmix import SplitMix
from opgen.suite.batch import Batch

USUAL = 1024
"""Elements of an output that are looked at, unless another number is asked for."""
FIRST = 16
"""Positions from the beginning of an axis that are looked at: every phase of a stride or dilation
up to so many."""
TILES = (16, 32, 64, 128, 256, 512, 1024)
"""Sizes of tiles, before and behind whose ends an element is looked at."""


def places(batch: Batch, most: int) -> dict[str, Array]:
    """The flat places of each output of a batch with more than ``most`` elements: corners; then
    elements with a telling position on one axis (the first ones, ends of tiles and groups, the
    last ones); then any. Ascending.

    Outputs whose axes a format turns are computed whole.
    """
    groups = batch.names.get("groups", batch.names.get("group", 1))
    return {
        out: _of_shape(batch.tensors[out].shape, int(groups), most)
        for out in batch.wanted
        if prod(batch.tensors[out].shape) > most and out not in batch.turned
    }


def _of_shape(shape: tuple[int, ...], groups: int, most: int) -> Array:
    total, stream = prod(shape), SplitMix(prod(shape) ^ most)
    chosen = [_flat(corner, shape) for corner in product(*({0, n - 1} for n in shape))]
    telling = [
        (axis, index) for axis, extent in enumerate(shape) for index in _telling(extent, groups)
    ]
    room = most // 2
    for axis, index in telling[:: max(1, -(-len(telling) // room))]:
        other = [
            int(word) % extent for word, extent in zip(stream.draw(len(shape)), shape, strict=True)
        ]
        chosen.append(_flat((*other[:axis], index, *other[axis + 1 :]), shape))
    kept = set(list(dict.fromkeys(chosen))[:most])
    while len(kept) < most:
        kept |= {int(word) % total for word in stream.draw(most - len(kept))}
    return np.array(sorted(kept), dtype=np.int64)


def _flat(index: Sequence[int], shape: tuple[int, ...]) -> int:
    return int(np.ravel_multi_index(tuple(index), shape))


def _telling(extent: int, groups: int) -> list[int]:
    """Positions on an axis at which faults begin or end."""
    ends = [end for tile in TILES for end in (tile - 1, tile, extent // tile * tile - 1)]
    ends += [extent // tile * tile for tile in TILES]
    if groups > 1 and extent % groups == 0:
        size = extent // groups
        ends += [edge for first in range(0, extent, size) for edge in (first, first + size - 1)]
    return sorted(
        index
        for index in ({*range(FIRST), *range(extent - 4, extent), *ends})
        if 0 <= index < extent
    )


@dataclass(frozen=True)
class Sampled:
    """The functions of a kernel, which compute only some elements of some outputs: (B, elements)
    at flat ``places``.
    """

    parts: Parts
    places: Mapping[str, Array]

    def golden(
        self,
        tensors: Mapping[str, Array | None],
        names: Mapping[str, object],
        wanted: Collection[str],
    ) -> dict[str, Array]:
        """What the kernel's ``golden`` says of them."""
        return self._some(self.parts.golden, tensors, names, wanted)

    def magnitude(
        self,
        tensors: Mapping[str, Array | None],
        names: Mapping[str, object],
        wanted: Collection[str],
    ) -> dict[str, Array]:
        """What the kernel's ``magnitude`` says of them: where it computes single elements, their
        sums of products of absolute values.
        """
        if self.parts.at is None:
            return self._some(self.parts.magnitude, tensors, names, wanted)
        sizes = {name: None if a is None else np.abs(a) for name, a in tensors.items()}
        return self._some(self.parts.golden, sizes, names, wanted)

    def _some(
        self,
        function: Callable[..., dict[str, Array]],
        tensors: Mapping[str, Array | None],
        names: Mapping[str, object],
        wanted: Collection[str],
    ) -> dict[str, Array]:
        sampled = {out: self.places[out] for out in wanted if out in self.places}
        if self.parts.at is None:
            outputs = function(tensors, names, wanted)
            return outputs | {
                out: outputs[out].reshape(len(outputs[out]), -1)[:, index]
                for out, index in sampled.items()
            }
        whole = [out for out in wanted if out not in self.places]
        outputs = function(tensors, names, whole) if whole else {}
        return outputs | (self.parts.at(tensors, names, sampled) if sampled else {})

    def as_parts(self) -> Parts:
        """The kernel that computes these."""
        return self.parts._replace(golden=self.golden, magnitude=self.magnitude, both=None)


def sums(
    parts: Parts,
    tensors: Mapping[str, Array | None],
    names: Mapping[str, object],
    out: str,
    weights: Sequence[Array],
    known: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """(B, draws) signed sums over an output, and (B,) sums of the absolute terms of all its
    elements; ``weights`` are (draws, extent) of its axes. ``known``: its golden and magnitude.
    """
    if parts.signed is None:
        goldens, sizes = known or (
            parts.golden(tensors, names, (out,))[out],
            parts.magnitude(tensors, names, (out,))[out],
        )
        shape = [weight.shape[1] for weight in weights]
        rows = [signed_sums(golden.reshape(shape), weights) for golden in goldens]
        return np.stack(rows), sizes.reshape(len(sizes), -1).sum(axis=1)
    absolute = {name: None if a is None else np.abs(a) for name, a in tensors.items()}
    ones = [np.ones((1, weight.shape[1])) for weight in weights]
    return (
        parts.signed(tensors, names, {out: weights})[out],
        parts.signed(absolute, names, {out: ones})[out][:, 0],
    )


def bound_of_sums(
    model: RoundingModel, magnitude: Array, largest: Array, shape: tuple[int, ...], limits: Limits
) -> Array:
    """(B,) how far a signed sum over a correct device's output may be from the exact one, at most:
    the errors of all elements together, as :func:`opgen.numerics.bounds.bound` has them, and those
    of our own sums.

    ``magnitude`` (B,) is the sum of the absolute terms of all elements, ``largest`` (B,) at least
    that of one. Inf where an element may overflow.
    """
    scale, own, grown, flush, exact, ours, unflushed = (
        float(number[0]) for number in limits.numbers(model.sum)
    )
    quantum, count = float(limits.quantum[0]), prod(shape)
    most, total = largest * scale, magnitude * scale
    radius = np.where(most <= exact, 0.0, total * grown) + np.where(most <= ours, 0.0, total * own)
    radius += np.where(most > unflushed, count * flush, 0.0)
    result = np.where(most * (1.0 + grown) + flush < model.sum.max, radius, np.inf)
    for form in model.written:
        fits = (result == 0) & (most <= 2.0**form.digits * quantum) & (quantum >= form.min_normal)
        half = (total + result) * 2.0**-form.digits + count * form.min_normal
        result = np.where(fits, result, result + half)
        over = (most * (1.0 + grown) + flush) * (1.0 + 2.0**-form.digits) > form.max
        result = np.where(over, np.inf, result)
    steps = (count + len(shape) + float(limits.depth[0])) * 2.0**-53  # additions of a term
    added = 4.0 * steps * (total + result)
    inexact = (result > 0) | ~(total <= 2.0**53 * quantum)
    return np.asarray((result + np.where(inexact, added, 0.0)) * (1.0 + 2.0**-40))


def marked(stored: StoredTensors, batches: Sequence[Batch], most: int) -> StoredTensors:
    """What cases keep where of each output at most so many elements are looked at: also which."""
    sizes = {
        (row, out): len(index)
        for batch in batches
        for out, index in places(batch, most).items()
        for row in batch.rows.tolist()
    }

    def new(
        case: int, name: str, role: str, dtype: str, count: int
    ) -> list[tuple[str, str, str, int]]:
        size = sizes.get((case, name), 0) if role in ("golden", "bound") else 0
        beside = [(name, "places", "INT64", size), (name, "sums", "DOUBLE", 2 * DRAWS)]
        return [(name, role, dtype, size or count), *(beside if size and role == "bound" else ())]

    return stored.changed(new)
