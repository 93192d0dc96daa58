"""The inputs of many batches: drawn, rounded to storage, and as they are computed with.

Tensors whose numbers are alike are drawn and rounded together, whatever their shapes and operators: for small ones, what
numpy asks per call is more than what it asks per element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

from opgen.batch import Batch
from opgen.fill import Source, draw, draw_alike
from opgen.flushing import has_subnormals
from opgen.golden import kernel
from opgen.numerics import DTYPES, Array, rounded, stored
from opgen.recipes import RECIPES, quantum
from opgen.slot import Role, Slot, part
from opgen.storage import given, through

PLANTED = ("nonfinite", "overflow")
"""Recipes that plant values which are or become Inf or NaN."""
SMALL = 1 << 13
"""Elements of a tensor from which on it gains nothing from company."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the numbers of inputs are like, whatever their shapes: a slot without one, and what its recipe says of it.

    Those with the same key are ``alike`` and can be drawn together; None where values depend on where they stand.
    ``normal``: none can be subnormal in the compute dtype.
    """

    slot: Slot
    alike: tuple[object, ...] | None
    quantum: float | None
    normal: bool


@dataclass(slots=True)
class Inputs:
    """The inputs of a batch: (B, elements) as they lie in storage; (B, *shape) as they are read, and as they are computed with.

    The latter two are None for null pointers. ``rounded``: some input is computed with otherwise than it is read;
    ``subnormal``: some may be subnormal in the compute dtype.
    """

    batch: Batch
    numbers: dict[str, Numbers]
    stored: dict[str, Array] = field(default_factory=dict)
    values: dict[str, Array | None] = field(init=False)
    seen: dict[str, Array | None] = field(init=False)
    rounded: bool = False
    subnormal: bool = False

    def __post_init__(self) -> None:
        self.values, self.seen = dict.fromkeys(self.batch.roles), dict.fromkeys(self.batch.roles)


_Tensor: TypeAlias = tuple[Inputs, str, tuple[int, ...]]
"""An input of a batch, its name and its shape (B, ...)."""


def fill(batches: Sequence[Batch], depths: Sequence[int], source: Source) -> list[Inputs]:
    """Draw and round every input; ``depths`` are the longest sums of each batch."""
    groups: dict[object, list[_Tensor]] = {}
    found = []
    for batch, depth in zip(batches, depths, strict=True):
        cases, recipe, compute, factors = len(batch.ids), batch.recipe, batch.compute, batch.factors
        inputs = Inputs(batch, {})
        found.append(inputs)
        for name in batch.inputs:
            desc = batch.tensors[name]
            numbers = _numbers(recipe, batch.roles.get(name, "operand"), desc.dtype, compute, depth, factors, desc.range)
            inputs.numbers[name] = numbers
            shape = (cases, *desc.shape)
            together = numbers.alike is not None and prod(shape) <= SMALL and name not in batch.given
            groups.setdefault(numbers.alike if together else (id(inputs), name), []).append((inputs, name, shape))
    for tensors in groups.values():
        _keep(tensors, _values(tensors, source))
    return found


@lru_cache(maxsize=1 << 14)
def _numbers(
    recipe: str, role: Any, dtype: str, compute: str, depth: int, factors: int, range: tuple[float, float] | None
) -> Numbers:
    known = compute in ("FLOAT16", "BFLOAT16", "HFLOAT32", "FLOAT")
    slot = Slot("", (), dtype, compute if known else DTYPES[dtype].part.name, max(depth, 1), role, factors, range=range)
    way, step = RECIPES[recipe].draw(role), quantum(recipe, slot)
    alike = None if way.key is None else (recipe, role, compute, *way.key(slot))
    return Numbers(slot, alike, step, step is not None and step >= part(compute).min_normal)


def _values(tensors: Sequence[_Tensor], source: Source) -> Array:
    """The values of inputs that are alike, flat and one after the other; or of a single one."""
    first, name, _ = tensors[0]
    batch, numbers = first.batch, first.numbers[name]
    if numbers.alike is not None and name not in batch.given:
        parts = 2 if DTYPES[numbers.slot.dtype].complex else 1
        wanted = [(inputs.batch.ids, name, prod(shape[1:]) * parts) for inputs, name, shape in tensors]
        return draw_alike(batch.recipe, source, numbers.slot, wanted)
    slot = replace(numbers.slot, tensor=name, shape=batch.tensors[name].shape, places=_places(batch, numbers.slot.role))
    return (given(batch, slot) if name in batch.given else draw(batch.recipe, source, batch.ids, slot)).reshape(-1)


def _places(batch: Batch, role: Role) -> tuple[int, ...] | None:
    """Where the gradient may hold what is not finite, as the kernel says: nowhere that padding may be multiplied by it."""
    places = getattr(kernel(batch.op), "places", None)
    if places is None or role != "gradient" or batch.recipe not in PLANTED:
        return None
    return tuple(places(batch.names, {name: desc.shape for name, desc in batch.tensors.items()}).tolist())


def _keep(tensors: Sequence[_Tensor], flat: Array) -> None:
    """Hand out values that were drawn together: as stored, as they are read, and as they are computed with."""
    first, name, _ = tensors[0]
    numbers, compute = first.numbers[name], first.batch.compute
    dtype = numbers.slot.dtype
    storage = stored(flat, dtype)
    flat = storage.astype(DTYPES[dtype].wide)  # a value too large for storage is Inf there
    seen = _in_compute(flat, dtype, compute)
    subnormal = not (numbers.normal and name not in first.batch.given) and has_subnormals(flat, compute)
    at = 0
    for inputs, name, shape in tensors:
        size, desc = prod(shape), inputs.batch.tensors[name]
        cut = slice(at, at := at + size)
        buffer, value = storage[cut].reshape(shape[0], size // max(shape[0], 1)), flat[cut].reshape(shape)
        now = value if seen is flat else seen[cut].reshape(shape)
        if desc.strides is not None or desc.offset:
            buffer, value = through(buffer, desc)
            now = _in_compute(value, dtype, compute)
        inputs.stored[name], inputs.values[name], inputs.seen[name] = buffer, value, now
        inputs.rounded |= now is not value
        inputs.subnormal |= subnormal


def _in_compute(values: Array, storage: str, to: str) -> Array:
    """One rounding to the compute dtype; none where it is the storage dtype or wider."""
    if to == storage or DTYPES[storage].complex or storage == "DOUBLE" or to == "FLOAT":
        return values
    return rounded(values, to)
