"""Wrong kernels: what is read from and written to which memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from math import prod

import numpy as np

from opgen.golden import Array
from opgen.model import TensorDesc
from opgen.numerics.views import index
from opgen.quality.mutants.device import unwritten
from opgen.quality.mutants.equivalent import constants
from opgen.quality.mutants.mutant import Computation, DeviceBatch, Mutant, Outputs
from opgen.spec.spec import Spec

BLOCK = 16
"""Elements that are written at a time."""
TILES = 4096
"""Elements of an output that two tiles hold."""


def contiguous(storage: Array, desc: TensorDesc) -> Array:
    """The first elements from the offset on, whatever the strides; after the end of the storage
    its beginning.
    """
    return np.take(storage, desc.offset + np.arange(prod(desc.shape)), axis=1, mode="wrap")


def without_offset(storage: Array, desc: TensorDesc) -> Array:
    """The view, from the beginning of its storage."""
    return storage[:, index(desc.shape, desc.steps, 0)]


def written_contiguous(array: Array, desc: TensorDesc) -> Array:
    """Written one element behind the other into a storage that is then read by its strides."""
    if desc.plain:
        return array
    storage = unwritten((len(array), desc.storage_elements), array.dtype)
    storage[:, np.arange(array[0].size) % storage.shape[1]] = array.reshape(len(array), -1)
    return storage[:, index(desc.shape, desc.steps, desc.offset)].reshape(array.shape)


def gaps_unwritten(given: Computation) -> Outputs:
    """Elements that no window meets keep what they held before."""
    ones = {
        name: None if array is None else np.ones_like(array)
        for name, array in given.tensors.items()
    }
    reached = given.run(ones, {"divisorOverride": 1} if "divisorOverride" in given.names else {})
    return {
        name: np.where(reached[name] == 0, unwritten((), array.dtype), array)
        for name, array in given.run().items()
    }


def zero_from(first: Callable[[int], int]) -> Callable[[DeviceBatch, str, Array], Array]:
    """What lies after the first elements of an output, so many of so many, stays zero."""

    def output(cases: DeviceBatch, name: str, array: Array) -> Array:
        flat = array.copy().reshape(len(array), -1)
        flat[:, first(flat.shape[1]) :] = 0
        return flat.reshape(array.shape)

    return output


def one_wrong(cases: DeviceBatch, name: str, array: Array) -> Array:
    """One element of every output holds its neighbour's value."""
    right = array.reshape(len(array), -1)
    wrong, size = right.copy(), right.shape[1]
    if size:
        rows, place = np.arange(len(right)), cases.element_of_each(size)
        wrong[rows, place] = right[rows, (place + 1) % size] if size > 1 else 0
    return wrong.reshape(array.shape)


def asked_backwards(cases: DeviceBatch) -> set[str]:
    """The outputs that the mask asks for when it is read from its end."""
    names = [p.name for p in cases.spec.outputs]
    asked = zip(names, reversed(names), strict=True)
    return {name for name, other in asked if other in cases.batch.wanted}


def mask_backwards(cases: DeviceBatch, name: str, array: Array) -> Array:
    """An output that is not asked for backwards is not written."""
    return array if name in asked_backwards(cases) else unwritten(array.shape, array.dtype)


def may_lack_outputs(spec: Spec) -> bool:
    """Whether a page allows some output to be a null pointer: else nobody sees what is written."""
    demanded = {
        guard.require.refs for rule in spec.rules for guard in rule.guards if guard.when is None
    }
    return any(((p.name, "null"),) not in demanded for p in spec.outputs)


def has_tails(spec: Spec) -> bool:
    """Whether some output may end in a part of a block: else a page asks of an axis of it that it
    is a multiple of the block, whatever its dtype.
    """
    guards = [guard for rule in spec.rules if rule.forbids for guard in rule.guards]
    conditions: dict[str, set[str]] = {}
    for guard in guards:
        asked = re.fullmatch(r"(\w+)\.shape\[-?\d+\] % (\d+) == 0", guard.require.text)
        if asked and int(asked[2]) % BLOCK == 0:
            conditions.setdefault(asked[1], set()).add(guard.when.text if guard.when else "")
    same = {guard.require.text for guard in guards if guard.when is None}
    whole = {
        name for name, asked in conditions.items() if "" in asked or _any_dtype(spec, name, asked)
    }
    return any(
        p.name not in whole and same.isdisjoint(f"{p.name}.shape == {name}.shape" for name in whole)
        for p in spec.outputs
    )


def _any_dtype(spec: Spec, name: str, conditions: Iterable[str]) -> bool:
    """Whether some of these conditions holds for each dtype that a page lists for a tensor."""
    listed = [guard.require.text for guard in spec.memberships.get((name, "dtype"), ())]
    of = f"{name}.dtype"
    admitted, met = (
        {dtype for what, dtypes in map(constants, texts) if what == of for dtype in dtypes}
        for texts in (listed, conditions)
    )
    return bool(listed) and admitted <= met


MUTANTS = (
    Mutant(
        "strides_ignored",
        "a view is read as if it were contiguous",
        where=lambda spec: any(p.strided is not False for p in spec.inputs),
        read=contiguous,
    ),
    Mutant(
        "offset_ignored",
        "a view is read from the start of its storage",
        where=lambda spec: any(p.strided is not False for p in spec.inputs),
        read=without_offset,
    ),
    Mutant(
        "output_contiguous",
        "an output is written as if it were contiguous",
        where=lambda spec: any(p.strided for p in spec.outputs),
        lay=written_contiguous,
    ),
    Mutant(
        "gaps_unwritten",
        "elements outside every window are not written",
        ("kernelSize|weight",),
        kernel=gaps_unwritten,
    ),
    Mutant(
        "not_cleared",
        "results are added to what the output held before",
        output=lambda cases, name, array: array + 1.0,
    ),
    Mutant(
        "tail_unwritten",
        "elements after the last whole block of 16 stay zero",
        where=has_tails,
        output=zero_from(lambda size: size // BLOCK * BLOCK),
    ),
    Mutant(
        "third_tile_unwritten",
        "elements after the first 4096 stay zero",
        output=zero_from(lambda size: TILES),
    ),
    Mutant("one_wrong_element", "one element holds its neighbour's value", output=one_wrong),
    Mutant(
        "mask_ignored",
        "outputs that are masked out are written anyway, even through null pointers",
        ("outputMask",),
        crashes=lambda cases: bool(cases.nulls),
        where=may_lack_outputs,
    ),
    Mutant(
        "mask_backwards",
        "the mask is read backwards",
        ("outputMask",),
        output=mask_backwards,
        crashes=lambda cases: bool(asked_backwards(cases) & cases.nulls),
    ),
)
