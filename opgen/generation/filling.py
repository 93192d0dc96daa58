"""The inputs of many batches: drawn, rounded to storage, and as they are computed with.

Tensors whose numbers are alike are drawn and rounded together, whatever their shapes and operators:
for small ones, what numpy asks per call is more than what it asks per element.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import prod
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from opgen.generation.inputs import SMALL, Inputs, is_saved
from opgen.generation.kernels import Parts, blamed, check
from opgen.generation.numbers import Numbers, as_argument, as_saved, numbers_of
from opgen.generation.storage import given, through
from opgen.model import TensorDesc
from opgen.numerics.arrays import Array, one_nan, reals
from opgen.numerics.fill import draw, draw_alike, keys
from opgen.numerics.formats import DTYPES
from opgen.numerics.input_tensor import Role
from opgen.numerics.optional_rounding import has_subnormals
from opgen.numerics.recipes import RECIPES
from opgen.numerics.rounding import in_compute, stored
from opgen.suite.batch import Batch

_Tensor: TypeAlias = tuple[Inputs, str, TensorDesc, int, int]
"""An input of a batch, its name, its descriptor, the cases, and its elements in one of them."""


def fill(
    batches: Sequence[Batch],
    depths: Sequence[int],
    seed: int,
    first: Mapping[str, int] = MappingProxyType({}),
) -> list[Inputs]:
    """Draw and round every input; ``depths`` are the longest sums of each batch. ``first`` is that
    of a single batch.
    """
    known, end = keys(seed, chain.from_iterable([batch.ids for batch in batches])), 0
    parts = {op: Parts.of(op) for op in {batch.op for batch in batches}}
    filled = [
        Inputs(
            batch,
            parts[batch.op],
            known[end : (end := end + len(batch.ids))],
            dict.fromkeys(batch.roles),
            RECIPES[batch.recipe].on_grid and not batch.given,
            first=first,
        )
        for batch in batches
    ]
    groups: dict[object, list[_Tensor]] = {}
    arguments: dict[object, list[_Tensor]] = {}
    for inputs, depth in zip(filled, depths, strict=True):
        batch = inputs.batch
        tensors, cases = batch.tensors, len(batch.ids)
        inputs.numbers = numbers_of(batch, inputs.parts, depth)
        for name in batch.inputs:
            tensor = inputs, name, tensors[name], cases, prod(tensors[name].shape)
            if is_saved(batch, name):
                inputs.unsaved.append(name)
                if name in inputs.parts.statistics:
                    inputs.values[name] = np.zeros((cases, *tensors[name].shape))
                    continue
                numbers, like = as_argument(batch, inputs.numbers[name]), arguments
            else:
                inputs.small = inputs.small and cases * tensor[-1] <= SMALL
                numbers, like = inputs.numbers[name], groups
            like.setdefault(_together(tensor, numbers), []).append(tensor)
    for alike in groups.values():
        inputs, name, *_ = alike[0]
        _keep(alike, _values(alike, inputs.numbers[name]))
    for alike in arguments.values():
        inputs, name, *_ = alike[0]
        drawn = _values(alike, as_argument(inputs.batch, inputs.numbers[name]))
        for (inputs, name, desc, cases, _), cut in _cuts(alike):
            inputs.values[name] = drawn[cut].reshape(cases, *desc.shape)
    _save([inputs for inputs in filled if inputs.unsaved])
    return filled


def _together(tensor: _Tensor, numbers: Numbers) -> object:
    """The same for tensors that are drawn and rounded together."""
    inputs, name, _, cases, size = tensor
    apart = numbers.alike is None or name in inputs.batch.given or name in inputs.first
    return (id(inputs), name) if apart or cases * size > SMALL else numbers.alike


def _cuts(tensors: Sequence[_Tensor]) -> Iterator[tuple[_Tensor, slice]]:
    """Each tensor, and where its numbers are of those that stand one after the other."""
    end = 0
    for tensor in tensors:
        yield tensor, slice(end, end := end + tensor[3] * tensor[4])


def _save(filled: Sequence[Inputs]) -> None:
    """What forwards kept for these gradients, computed of the other inputs and of what was drawn in
    its place; rounded to storage.
    """
    groups: dict[object, list[tuple[_Tensor, Array]]] = {}
    for inputs in filled:
        batch = inputs.batch
        try:
            saved: dict[str, Array] = inputs.parts.saved(inputs.values, batch.names)
        except Exception as error:
            raise blamed(batch, "saved", error) from error
        check(batch, {"saved": saved}, inputs.unsaved)
        for name in inputs.unsaved:
            desc = batch.tensors[name]
            inputs.numbers[name] = numbers = as_saved(inputs.numbers[name])
            inputs.on_grid = inputs.on_grid and numbers.normal
            tensor = inputs, name, desc, len(batch.ids), prod(desc.shape)
            key = _together(tensor, numbers)
            groups.setdefault(key, []).append((tensor, saved[name].reshape(-1)))
    for group in groups.values():
        tensors, arrays = zip(*group, strict=True)
        dtype = tensors[0][2].dtype
        values = np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
        flat = stored(values, dtype).astype(DTYPES[dtype].wide)
        one_nan(reals(flat))
        _keep(tensors, flat)


def _values(tensors: Sequence[_Tensor], numbers: Numbers) -> Array:
    """The values of inputs that are alike, flat and one after the other; or of a single one."""
    first, name, *_ = tensors[0]
    batch, before = first.batch, first.first.get(name, 0)
    if numbers.alike is not None and name not in batch.given:
        parts = 2 if DTYPES[numbers.tensor.dtype].complex else 1
        wanted = [
            (inputs.keys, name, (before + size) * parts) for inputs, name, _, _, size in tensors
        ]
        return draw_alike(batch.recipe, numbers.tensor, wanted, before * parts)
    tensor = replace(
        numbers.tensor,
        name=name,
        shape=batch.tensors[name].shape,
        places=_places(first, numbers.tensor.role),
    )
    return (
        given(batch, tensor) if name in batch.given else draw(batch.recipe, first.keys, tensor)
    ).reshape(-1)


def _places(inputs: Inputs, role: Role) -> Array | None:
    """Where values of the gradient that stand alone say something, as the kernel tells."""
    batch, places = inputs.batch, inputs.parts.places
    way = RECIPES[batch.recipe].gradient
    if places is None or role != "gradient" or not way.sparse:
        return None
    try:
        alone: Array = places(
            batch.names,
            {name: desc.shape for name, desc in batch.tensors.items()},
            batch.wanted,
            way.planted,
        )
        return alone
    except Exception as error:
        raise blamed(batch, "places", error) from error


def _keep(tensors: Sequence[_Tensor], flat: Array) -> None:
    """Hand out values that were drawn together: as stored, as they are read, and as they are
    computed with.
    """
    first, name, *_ = tensors[0]
    numbers, compute = first.numbers[name], first.batch.compute
    dtype = numbers.tensor.dtype
    if numbers.tensor.role == "index":
        compute = DTYPES[dtype].part.name  # what chooses is not computed with
    storage = stored(flat, dtype)
    if name in first.batch.given or RECIPES[first.batch.recipe].draw(numbers.tensor.role).planted:
        flat = storage.astype(
            DTYPES[dtype].wide
        )  # a value too large for storage is Inf there; all others that are drawn are exact
    seen = in_compute(flat, dtype, compute)
    subnormal = not (numbers.normal and name not in first.batch.given) and has_subnormals(
        flat, compute
    )
    for (inputs, name, desc, cases, size), cut in _cuts(tensors):
        if desc.plain:
            shape = cases, *desc.shape
            inputs.arrays[name, "input"], inputs.values[name] = (
                storage[cut].reshape(cases, size),
                flat[cut].reshape(shape),
            )
            if seen is not flat:
                inputs.rounded[name] = seen[cut].reshape(shape)
        else:
            inputs.arrays[name, "input"], value = through(storage[cut].reshape(cases, size), desc)
            inputs.values[name], now = value, in_compute(value, dtype, compute)
            if now is not value:
                inputs.rounded[name] = now
        if subnormal:
            inputs.subnormal = True
