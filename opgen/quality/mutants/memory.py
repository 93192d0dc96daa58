"""Wrong kernels: what is read from and written to which memory."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from zlib import crc32

import numpy as np

from opgen.golden import Array
from opgen.model import TensorDesc
from opgen.numerics.views import index
from opgen.quality.mutants.device import storage_of, unwritten
from opgen.quality.mutants.mutant import Golden, Mutant, Names, Outputs, Values, Work

BLOCK = 16
"""Elements that are written at a time."""
TILES = 4096
"""Elements of an output that two tiles hold."""


def contiguous(storage: Array, desc: TensorDesc) -> Array:
    """The first elements from the offset on, whatever the strides; behind the end of the storage
    its beginning.
    """
    return np.take(storage, desc.offset + np.arange(prod(desc.shape)), axis=1, mode="wrap")


def without_offset(storage: Array, desc: TensorDesc) -> Array:
    return storage[:, index(desc.shape, desc.steps, 0)]


def written_contiguous(array: Array, desc: TensorDesc) -> Array:
    """Written one element behind the other into a storage that is then read by its strides."""
    if desc.plain:
        return array
    storage = storage_of(len(array), desc, array.dtype)
    storage[:, np.arange(array[0].size) % storage.shape[1]] = array.reshape(len(array), -1)
    return storage[:, index(desc.shape, desc.steps, desc.offset)].reshape(array.shape)


def gaps_unwritten(
    work: Work, golden: Golden, tensors: Values, names: Names, wanted: tuple[str, ...]
) -> Outputs:
    """Elements that no window meets keep what they held before."""
    outputs = dict(golden(tensors, names, wanted))
    ones = {name: None if array is None else np.ones_like(array) for name, array in tensors.items()}
    reached = golden(
        ones, names | ({"divisorOverride": 1} if "divisorOverride" in names else {}), wanted
    )
    return {
        name: np.where(reached[name] == 0, unwritten((), array.dtype), array)
        for name, array in outputs.items()
    }


def not_cleared(work: Work, outputs: Outputs) -> Outputs:
    """Added to what the output held before, here ones."""
    return {name: array + 1.0 for name, array in outputs.items()}


def zero_from(first: Callable[[int], int]) -> Callable[[Work, Outputs], Outputs]:
    """What lies behind the first elements of an output, so many of so many, stays zero."""

    def change(work: Work, outputs: Outputs) -> Outputs:
        found = {}
        for name, array in outputs.items():
            flat = array.copy().reshape(len(array), -1)
            flat[:, first(flat.shape[1]) :] = 0
            found[name] = flat.reshape(array.shape)
        return found

    return change


def one_wrong(work: Work, outputs: Outputs) -> Outputs:
    """One element of every output holds its neighbour's value."""
    found = {}
    for name, array in outputs.items():
        flat = array.copy().reshape(len(array), -1)
        if size := flat.shape[1]:
            place = np.array([crc32(case.encode()) % size for case in work.batch.ids])
            flat[np.arange(len(flat)), place] = (
                array.reshape(len(array), -1)[np.arange(len(flat)), (place + 1) % size]
                if size > 1
                else 0
            )
        found[name] = flat.reshape(array.shape)
    return found


def asked_backwards(work: Work) -> set[str]:
    """The outputs that the mask asks for when it is read from its end."""
    names = [p.name for p in work.spec.outputs]
    return {
        name
        for name, other in zip(names, reversed(names), strict=True)
        if other in work.batch.wanted
    }


def mask_backwards(work: Work, outputs: Outputs) -> Outputs:
    asked = asked_backwards(work)
    return {
        name: array if name in asked else unwritten(array.shape, array.dtype)
        for name, array in outputs.items()
    }


MUTANTS = (
    Mutant("strides_ignored", "a view is read as if it were contiguous", read=contiguous),
    Mutant(
        "offset_ignored", "a view is read from the beginning of its storage", read=without_offset
    ),
    Mutant(
        "output_contiguous",
        "an output is written as if it were contiguous",
        where=lambda spec: any(p.strided for p in spec.outputs),
        lay=written_contiguous,
    ),
    Mutant(
        "gaps_unwritten",
        "elements that no window meets are not written",
        ("kernelSize|weight",),
        kernel=gaps_unwritten,
    ),
    Mutant("not_cleared", "results are added to what the output held before", outputs=not_cleared),
    Mutant(
        "tail_unwritten",
        "elements behind the last whole block of 16 stay zero",
        outputs=zero_from(lambda size: size // BLOCK * BLOCK),
    ),
    Mutant(
        "third_tile_unwritten",
        "elements behind the first 4096 stay zero",
        outputs=zero_from(lambda size: TILES),
    ),
    Mutant("one_wrong_element", "one element holds its neighbour's value", outputs=one_wrong),
    Mutant(
        "mask_ignored",
        "outputs that are masked out are written all the same, null pointers included",
        ("outputMask",),
        crashes=lambda work: bool(work.nulls),
    ),
    Mutant(
        "mask_backwards",
        "the mask is read from its end",
        ("outputMask",),
        outputs=mask_backwards,
        crashes=lambda work: bool(asked_backwards(work) & work.nulls),
    ),
)
