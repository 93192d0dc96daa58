"""The inputs of many batches: drawn, rounded to storage, and as they are computed with.

Tensors whose numbers are alike are drawn and rounded together, whatever their shapes and operators:
for small ones, what numpy asks per call is more than what it asks per element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import chain
from math import prod
from typing import Any, TypeAlias

from opgen.generation.kernels import Parts, blamed
from opgen.generation.storage import given, through
from opgen.model import TensorDesc
from opgen.numerics.arrays import Array
from opgen.numerics.fill import draw, draw_alike, keys
from opgen.numerics.formats import DTYPES, FORMATS, format_of
from opgen.numerics.readings import has_subnormals
from opgen.numerics.recipes import RECIPES, quantum
from opgen.numerics.rounding import in_compute, stored
from opgen.numerics.slot import Role, Slot
from opgen.suite.batch import Batch

Arrays: TypeAlias = dict[tuple[str, str], Array]
"""Everything that is stored of a batch: (name, role) -> (B, ...); inputs as whole storages."""
SMALL = 1 << 14
"""Elements of a tensor from which on it gains nothing from being drawn with others."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the numbers of inputs are like, whatever their shapes: a slot without one, and what its
    recipe says of it.

    Those with the same object are ``alike`` and can be drawn together; None where values depend on
    where they stand. ``normal``: none can be subnormal in the compute dtype.
    """

    slot: Slot
    alike: object
    quantum: float | None
    normal: bool


@dataclass(slots=True)
class Inputs:
    """The inputs of a batch: ``arrays`` (B, elements) as they lie in storage, ``values`` (B,
    *shape) as they are read, None for null pointers, and those that are ``rounded`` before they are
    computed with, or may be. ``keys`` (B,) are those of the cases' streams.

    ``on_grid``: all data are, so that all sums are exact as they are. ``small``: no tensor has more
    than ``SMALL`` elements, all cases together. ``subnormal``: some may be subnormal in the compute
    dtype.
    """

    batch: Batch
    keys: Array
    values: dict[str, Array | None]
    on_grid: bool
    numbers: dict[str, Numbers] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    rounded: dict[str, Array | None] = field(default_factory=dict)
    small: bool = True
    subnormal: bool = False

    @property
    def seen(self) -> dict[str, Array | None]:
        """What is computed with; values as they are where rounding is optional."""
        return (
            {**self.values, **self.rounded}
            if self.rounded and not self.batch.optional
            else self.values
        )


_Tensor: TypeAlias = tuple[Inputs, str, TensorDesc, int, int]
"""An input of a batch, its name, its descriptor, the cases, and its elements in one of them."""


def fill(batches: Sequence[Batch], depths: Sequence[int], seed: int) -> list[Inputs]:
    """Draw and round every input; ``depths`` are the longest sums of each batch."""
    known, end = keys(seed, chain.from_iterable([batch.ids for batch in batches])), 0
    filled = []
    for batch in batches:
        on_grid = RECIPES[batch.recipe].on_grid and not batch.given
        filled.append(
            Inputs(
                batch,
                known[end : (end := end + len(batch.ids))],
                dict.fromkeys(batch.roles),
                on_grid,
            )
        )
    groups: dict[object, list[_Tensor]] = {}
    for inputs, depth in zip(filled, depths, strict=True):
        batch = inputs.batch
        recipe, roles, tensors, cases = batch.recipe, batch.roles, batch.tensors, len(batch.ids)
        larger = Parts.of(batch.op).scale
        scale = larger(batch.names) if larger else 0
        for name in batch.inputs:
            desc = tensors[name]
            numbers = _numbers(
                recipe,
                roles[name],
                desc.dtype,
                batch.compute,
                depth,
                batch.factors,
                desc.range,
                scale if name == batch.gradient else 0,
            )
            inputs.numbers[name] = numbers
            size = prod(desc.shape)
            small = cases * size <= SMALL
            if not small:
                inputs.small = False
            together = small and numbers.alike is not None and name not in batch.given
            groups.setdefault(numbers.alike if together else (id(inputs), name), []).append(
                (inputs, name, desc, cases, size)
            )
    for alike in groups.values():
        _keep(alike, _values(alike))
    return filled


@lru_cache(maxsize=1 << 14)
def _numbers(
    recipe: str,
    role: Any,
    dtype: str,
    compute: str,
    depth: int,
    factors: int,
    range: tuple[float, float] | None,
    scale: int,
) -> Numbers:
    slot = Slot(
        "",
        (),
        dtype,
        compute if compute in FORMATS else DTYPES[dtype].part.name,
        max(depth, 1),
        role,
        factors,
        range=range,
        scale=scale,
    )
    way, step = RECIPES[recipe].draw(role), quantum(recipe, slot)
    alike = None if way.key is None else _kind(recipe, role, compute, *way.key(slot))
    return Numbers(slot, alike, step, step is not None and step >= format_of(compute).min_normal)


@cache
def _kind(*what: object) -> object:
    """One object for each kind of numbers: what they are like is hashed when it is first met, and
    no more.
    """
    return object()


def _values(tensors: Sequence[_Tensor]) -> Array:
    """The values of inputs that are alike, flat and one after the other; or of a single one."""
    first, name, *_ = tensors[0]
    batch, numbers = first.batch, first.numbers[name]
    if numbers.alike is not None and name not in batch.given:
        parts = 2 if DTYPES[numbers.slot.dtype].complex else 1
        wanted = [(inputs.keys, name, size * parts) for inputs, name, _, _, size in tensors]
        return draw_alike(batch.recipe, numbers.slot, wanted)
    slot = replace(
        numbers.slot,
        tensor=name,
        shape=batch.tensors[name].shape,
        places=_places(batch, numbers.slot.role),
    )
    return (
        given(batch, slot) if name in batch.given else draw(batch.recipe, first.keys, slot)
    ).reshape(-1)


def _places(batch: Batch, role: Role) -> Array | None:
    """Where values of the gradient that stand alone say something, as the kernel tells."""
    places, way = Parts.of(batch.op).places, RECIPES[batch.recipe].gradient
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
    dtype = numbers.slot.dtype
    storage = stored(flat, dtype)
    if name in first.batch.given or RECIPES[first.batch.recipe].draw(numbers.slot.role).planted:
        flat = storage.astype(
            DTYPES[dtype].wide
        )  # a value too large for storage is Inf there; all others that are drawn are exact
    seen = in_compute(flat, dtype, compute)
    subnormal = not (numbers.normal and name not in first.batch.given) and has_subnormals(
        flat, compute
    )
    begin = 0
    for inputs, name, desc, cases, size in tensors:
        cut = slice(begin, begin := begin + cases * size)
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
