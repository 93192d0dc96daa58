"""The versions of what decides about the bits of data: kernels, recipes, and the arithmetic that
they share.

Each stands beside what it is the version of, and is raised by hand when results change. How that is
written has no part in it: a comment or a new name leaves every bundle and every lock as it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from opgen.generation import computing
from opgen.generation.kernels import Parts
from opgen.numerics import bounds, exact, fill, rounding
from opgen.numerics.recipes import RECIPES

ARITHMETIC = {
    "streams": fill.VERSION,
    "rounding": rounding.VERSION,
    "exact": exact.VERSION,
    "bounds": bounds.VERSION,
    "computing": computing.VERSION,
}
"""What all data have in common."""


def versions(operators: Iterable[str], recipes: Iterable[str]) -> dict[str, int]:
    """The versions of all that decides about data of some operators' specs and of some recipes.
    FileError where an operator has no kernel.

    >>> versions(["avg_pool2d_backward"], ["grid"])["kernel avg_pool2d_backward"]
    3
    """
    return {
        **{f"kernel {op}": Parts.of(op).version for op in operators},
        **{f"recipe {name}": RECIPES[name].version for name in recipes},
        **ARITHMETIC,
    }
