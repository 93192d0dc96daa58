"""What the numbers of inputs are like: of which tensors they can be drawn together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from opgen.generation.kernels import Parts
from opgen.numerics.formats import DTYPES, FORMATS, format_of
from opgen.numerics.input_tensor import InputTensor
from opgen.numerics.recipes import RECIPES, quantum
from opgen.suite.batch import Batch


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """What the numbers of inputs are like, whatever their shapes: a tensor without one, and what
    its recipe says of it.

    Those with the same object are ``alike`` and can be drawn together; None where values depend on
    where they stand. ``normal``: none can be subnormal in the compute dtype.
    """

    tensor: InputTensor
    alike: object
    quantum: float | None
    normal: bool


def numbers_of(batch: Batch, kernel: Parts, depth: int) -> dict[str, Numbers]:
    """What the numbers of each input are like, where the longest sum is ``depth``."""
    scale = kernel.scale(batch.names) if kernel.scale else 0
    thresholds = tuple(kernel.thresholds(batch.names)) if kernel.thresholds else ()
    return {
        name: _numbers(
            batch.recipe,
            batch.roles[name],
            batch.tensors[name].dtype,
            batch.compute,
            depth,
            batch.factors,
            batch.tensors[name].range,
            scale if name == batch.gradient else 0,
            thresholds if batch.roles[name] == "argument" else (),
        )
        for name in batch.inputs
    }


@lru_cache(maxsize=1 << 14)
def as_saved(numbers: Numbers) -> Numbers:
    """The same of what the kernel computes: numbers on no grid, unless they are whole."""
    whole = DTYPES[numbers.tensor.dtype].whole
    return Numbers(numbers.tensor, numbers.alike, numbers.quantum if whole else None, whole)


def as_argument(batch: Batch, numbers: Numbers) -> Numbers:
    """The same of a tensor, as something that a function is evaluated at."""
    tensor = numbers.tensor
    return _numbers(
        batch.recipe,
        "argument",
        tensor.dtype,
        batch.compute,
        tensor.depth,
        tensor.factors,
        None,
        0,
        (),
    )


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
    thresholds: tuple[float, ...],
) -> Numbers:
    if DTYPES[dtype].whole:
        role = "whole" if role in ("gradient", "argument") else "index"
    elif role == "saved" and RECIPES[recipe].consistent:
        role = "operand"
    if role in ("index", "whole") and range is not None:
        least, greatest = DTYPES[dtype].limits
        range = min(max(range[0], least), greatest), min(max(range[1], least), greatest)
    tensor = InputTensor(
        "",
        (),
        dtype,
        compute if compute in FORMATS else DTYPES[dtype].part.name,
        max(depth, 1),
        role,
        factors,
        range=range,
        scale=scale,
        thresholds=thresholds,
    )
    way, step = RECIPES[recipe].draw(role), quantum(recipe, tensor)
    alike = None if way.key is None else _kind(recipe, role, compute, *way.key(tensor))
    return Numbers(tensor, alike, step, step is not None and step >= format_of(compute).min_normal)


@cache
def _kind(*what: object) -> object:
    """One object for each kind of numbers: what they are like is hashed when it is first met, and
    no more.
    """
    return object()
