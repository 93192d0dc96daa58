"""Deliberately wrong devices: kernels that compute something else, and checkers that refuse something else.

What a suite does not catch here it would not catch elsewhere. :mod:`opgen.adequacy.mutation` keeps the score.
"""

from __future__ import annotations

from opgen.model import FileError, Problem
from opgen.mutants import arithmetic, geometry, memory
from opgen.mutants.checkers import FAMILIES, Family
from opgen.mutants.mutant import NOTHING, Mutant
from opgen.yamlfile import did_you_mean

__all__ = ["ALL", "FAMILIES", "KERNELS", "NOTHING", "Family", "Mutant", "find", "names"]

KERNELS: tuple[Mutant, ...] = (*geometry.MUTANTS, *arithmetic.MUTANTS, *memory.MUTANTS)
"""Every wrong kernel, in the order in which people read them."""
ALL: tuple[Mutant | Family, ...] = (*KERNELS, *FAMILIES)


def names() -> list[str]:
    """The names of all mutants, wrong kernels first."""
    return [mutant.name for mutant in ALL]


def find(name: str) -> Mutant | Family:
    """A mutant by its name; ``nothing`` is a correct device. FileError where there is none."""
    for mutant in (NOTHING, *ALL):
        if mutant.name == name:
            return mutant
    raise FileError([Problem("mutant", None, name, f"no such mutant{did_you_mean(name, names())}; known are {', '.join(names())}")])
