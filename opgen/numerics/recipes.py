"""Data recipes: how the tensors of a case are filled, and which fault each recipe finds.

A recipe is a table entry: one way to draw the gradient that flows in, one for its partners in
products, one each for group norm's ``mean`` and ``rstd``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from opgen.numerics.draws import (
    ALTERNATING,
    GRID,
    INTEGERS,
    NEAR_ONE,
    NONFINITE,
    NORMAL,
    ONE_HOT,
    ONES,
    OVERFLOW,
    POWERS,
    SUBNORMALS,
    WIDE,
    ZEROS,
    Draw,
)
from opgen.numerics.slot import Role, Slot


@dataclass(frozen=True, slots=True)
class Recipe:
    """How tensors of each role are drawn (:data:`opgen.numerics.slot.Role`); ``finds`` is one line:
    the fault it finds.
    """

    name: str
    finds: str
    gradient: Draw
    operand: Draw
    centre: Draw
    scale: Draw

    def draw(self, role: Role) -> Draw:
        """How a tensor of this role is drawn."""
        way: Draw = getattr(self, role)
        return way

    @property
    def on_grid(self) -> bool:
        """Whether one golden call is exact in any order; otherwise operands must be split
        (:mod:`opgen.numerics.exact`).
        """
        return self.gradient.quantum is not None and self.operand.quantum is not None


def applies(recipe: str, storage: str, compute: str) -> bool:
    """Whether a recipe says anything for these dtypes: overflow needs a compute dtype narrower than
    the storage.
    """
    return recipe != "overflow" or (compute == "FLOAT16" and storage != "FLOAT16")


def quantum(recipe: str, slot: Slot) -> float | None:
    """What all finite values of a tensor are multiples of, a power of two; None where a recipe
    keeps to no grid.
    """
    step = RECIPES[recipe].draw(slot.role).quantum
    return None if step is None else step(slot)


_TABLE = {  # name: gradient, operand, centre, scale, what it finds
    "grid": (
        GRID,
        GRID,
        GRID,
        POWERS,
        "wrong indices, weights and missing terms; the golden itself is exact",
    ),
    "integers": (
        INTEGERS,
        INTEGERS,
        INTEGERS,
        POWERS,
        "any error at all: float32 sums are exact, bits must match",
    ),
    "normal": (
        NORMAL,
        NORMAL,
        GRID,
        POWERS,
        "wrong rounding of inputs and precision lost on everyday values",
    ),
    "wide_exponent": (
        WIDE,
        WIDE,
        GRID,
        POWERS,
        "accumulators too narrow, exponents aligned or clamped wrongly",
    ),
    "cancellation": (
        ALTERNATING,
        NEAR_ONE,
        GRID,
        POWERS,
        "digits lost in partial sums: large terms, small result",
    ),
    "subnormals": (
        SUBNORMALS,
        GRID,
        GRID,
        POWERS,
        "subnormals taken for NaN, Inf or large numbers",
    ),
    "zeros": (
        ZEROS,
        GRID,
        GRID,
        POWERS,
        "outputs left unwritten, or not cleared before accumulation",
    ),
    "ones": (
        ONES,
        ONES,
        ZEROS,
        ONES,
        "windows miscounted at borders: an output is its number of contributions",
    ),
    "one_hot": (
        ONE_HOT,
        GRID,
        GRID,
        POWERS,
        "wrong indices, one at a time: a single element's whole reach",
    ),
    "nonfinite": (
        NONFINITE,
        GRID,
        GRID,
        POWERS,
        "Inf and NaN swallowed, or spread to where they do not belong",
    ),
    "overflow": (
        OVERFLOW,
        GRID,
        GRID,
        POWERS,
        "a narrower compute dtype that saturates or wraps instead of Inf",
    ),
}

RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {name: Recipe(name, finds, *draws) for name, (*draws, finds) in _TABLE.items()}
)
"""Recipes by name."""
DEFAULT = "grid"
"""The recipe of data for which none is named."""
