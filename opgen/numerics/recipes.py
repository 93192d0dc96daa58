"""Data recipes: how the tensors of a case are filled, and which fault each recipe finds.

A recipe is a table entry: one way to draw the gradient that flows in, one for its partners in
products, one each for group norm's ``mean`` and ``rstd``; what functions are evaluated at is drawn
in one way by all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from opgen.numerics.arrays import Array
from opgen.numerics.distributions import (
    ALTERNATING,
    ARGUMENT,
    BALANCED,
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
    TWO_OR_THREE,
    WIDE,
    ZEROS,
)
from opgen.numerics.draw import Draw
from opgen.numerics.input_tensor import InputTensor, Role
from opgen.numerics.whole_numbers import INDICES, WHOLE_NUMBERS


@dataclass(frozen=True, slots=True)
class Recipe:
    """How tensors of each role are drawn (:data:`opgen.numerics.input_tensor.Role`); ``finds`` is
    one line: the fault it finds. ``consistent``: what the forward saved follows from the other
    inputs; it is drawn as ``saved`` says otherwise.

    ``version`` is raised by hand whenever the recipe draws other numbers; a test sees to it.
    """

    name: str
    finds: str
    gradient: Draw
    operand: Draw
    centre: Draw
    scale: Draw
    argument: Draw = ARGUMENT
    version: int = 1
    index: Draw = INDICES
    whole: Draw = WHOLE_NUMBERS
    saved: Draw = GRID
    consistent: bool = True

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


def applies(recipe: str | Array, storage: Array, compute: Array) -> Array:
    """(rows,) bool: whether recipes say anything for dtypes, columns of names: overflow needs a
    compute dtype narrower than the storage.
    """
    return np.asarray((recipe != "overflow") | (compute == "FLOAT16") & (storage != "FLOAT16"))


def quantum(recipe: str, tensor: InputTensor) -> float | None:
    """What all finite values of a tensor are multiples of, a power of two; None where a recipe
    keeps to no grid.
    """
    step = RECIPES[recipe].draw(tensor.role).quantum
    return None if step is None else step(tensor)


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in [
            Recipe(
                "grid",
                "wrong indices, weights and missing terms; the golden itself is exact",
                *(GRID, GRID, GRID, POWERS),
            ),
            Recipe(
                "integers",
                "any error in a sum, however small: float32 sums are exact",
                *(INTEGERS, INTEGERS, INTEGERS, POWERS),
            ),
            Recipe(
                "normal",
                "wrong rounding of inputs, and precision lost on everyday values",
                *(NORMAL, NORMAL, GRID, POWERS),
            ),
            Recipe(
                "wide_exponent",
                "accumulators that are too narrow, and exponents aligned or clamped wrongly",
                *(WIDE, WIDE, GRID, POWERS),
            ),
            Recipe(
                "cancellation",
                "digits lost in partial sums: the terms are large, the result is small",
                *(ALTERNATING, NEAR_ONE, GRID, POWERS),
            ),
            Recipe(
                "subnormals",
                "subnormals mistaken for NaN, Inf or large numbers",
                *(SUBNORMALS, GRID, GRID, POWERS),
            ),
            Recipe(
                "zeros",
                "outputs not written, or not cleared before accumulation",
                *(ZEROS, GRID, GRID, POWERS),
            ),
            Recipe(
                "ones",
                "windows miscounted at borders: each output equals its number of contributions",
                *(ONES, ONES, ZEROS, ONES),
            ),
            Recipe(
                "one_hot",
                "wrong indices, one at a time: shows which outputs one element reaches",
                *(ONE_HOT, GRID, GRID, POWERS),
            ),
            Recipe(
                "nonfinite",
                "Inf and NaN lost, or spread to the wrong places",
                *(NONFINITE, GRID, GRID, POWERS),
            ),
            Recipe(
                "overflow",
                "a narrower compute dtype that saturates or wraps instead of giving Inf",
                *(OVERFLOW, GRID, GRID, POWERS),
            ),
            Recipe(
                "inconsistent",
                "saved statistics, results and indices that are not read, but computed again",
                *(GRID, GRID, GRID, POWERS),
                consistent=False,
            ),
            Recipe(
                "partial_sums",
                "parts of a long sum left out or counted twice: all sums stay small and exact",
                *(BALANCED, TWO_OR_THREE, ZEROS, ONES),
                saved=ONES,
                consistent=False,
            ),
        ]
    }
)
"""Recipes by name."""
DEFAULT = "grid"
"""The recipe of data for which none is named."""
