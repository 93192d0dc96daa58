"""Deliberately wrong devices: kernels that compute something else, and checkers that refuse
something else.

What a suite does not catch here it would not catch elsewhere.
:mod:`opgen.quality.mutation_score` keeps the score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opgen.model import FileError, Problem, did_you_mean
from opgen.quality.mutants import (
    arithmetic,
    convolution,
    functions,
    geometry,
    indices,
    interpolation,
    memory,
    modes,
    pooling,
    precision,
    reflection,
    tiling,
)
from opgen.quality.mutants.checkers import FAMILIES, Family
from opgen.quality.mutants.mutant import NOTHING, Mutant
from opgen.spec.spec import Spec

__all__ = [
    "ALL",
    "FAMILIES",
    "KERNELS",
    "NOTHING",
    "Family",
    "Mutant",
    "find",
    "find_device",
    "names",
    "refuse_idle",
]

KERNELS: tuple[Mutant, ...] = (
    *geometry.MUTANTS,
    *convolution.MUTANTS,
    *reflection.MUTANTS,
    *indices.MUTANTS,
    *interpolation.MUTANTS,
    *pooling.MUTANTS,
    *arithmetic.MUTANTS,
    *precision.MUTANTS,
    *functions.MUTANTS,
    *modes.MUTANTS,
    *memory.MUTANTS,
)
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
    if seam := tiling.named(name):
        return seam
    text = f"no such mutant{did_you_mean(name, names())}" if name else "name one, as in mutant:NAME"
    known = f"opgen explain mutants lists them; mutant:{NOTHING.name} is a correct device"
    raise FileError.of("mutant", name, f"{text}; {known}")


def refuse_idle(mutants: Iterable[Mutant | Family], pages: Sequence[Spec]) -> None:
    """FileError with those of some mutants that change nothing on any of some pages."""
    named = ", ".join(dict.fromkeys(spec.api for spec in pages))
    problems = [
        Problem(
            "mutant",
            None,
            mutant.name,
            f"changes nothing in {named}; opgen explain {mutant.name} names its operators",
        )
        for mutant in mutants
        if mutant is not NOTHING and pages and not any(map(mutant.applies, pages))
    ]
    if problems:
        raise FileError(problems)


def find_device(name: str, pages: Sequence[Spec]) -> tuple[Mutant | Family, str]:
    """A mutant by ``NAME``, or by ``FAMILY/RULE`` with the one rule that it holds wrong, else
    empty. FileError where there is none of that name, or where the family can hold no such rule of
    ``pages`` wrong.
    """
    own, slash, rule = name.partition("/")
    mutant = find(own)
    if not slash:
        return mutant, ""
    if not isinstance(mutant, Family):
        raise FileError.of("mutant", name, f"is not a rule of a family; {own} is the whole name")
    known = list(dict.fromkeys(member.rule.id for spec in pages for member in mutant.members(spec)))
    if rule not in known:
        text = f"no such rule on the bundle's pages{did_you_mean(rule, known)}; known:"
        others = [
            family.name
            for family in FAMILIES
            if any(m.rule.id == rule for spec in pages for m in family.members(spec))
        ]
        if others:
            text = "is no fault that this rule can have; those that it can have:"
            known = [f"{other}/{rule}" for other in others]
        raise FileError.of("mutant", name, f"{text} {', '.join(known) or 'none'}")
    return mutant, rule
