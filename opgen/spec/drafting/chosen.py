"""What a flag of the call chooses: a number that a letter is, and which axis is the first."""

from __future__ import annotations

import re
from collections.abc import Mapping

from opgen.spec.drafting.facts import Facts
from opgen.spec.drafting.placed_claim import PlacedClaim

FACTOR = r"\d+|[A-Za-z_]\w*(?:\[\d\])?"
"""A factor of an axis that is a product."""
EITHER = re.compile(r"(\w+)\?(\w+):(\w+)")
"""An axis that is one of two: a flag, what it is where the flag is set, and what it is else."""


def chosen(facts: Facts, said: PlacedClaim) -> bool:
    """A letter that is one of two numbers by a flag, or the word for the axis that is the first by
    one.
    """
    flags, (name,) = said.claim.of("names") or said.subjects, said.claim.of("letter")
    if [facts.parameters[flag].kind for flag in flags] != ["bool"]:
        return False
    numbers = said.claim.of("number") or ("first",), said.claim.of("number2") or ("",)
    facts.chosen[name] = {flags[0]: numbers[0][0], f"not {flags[0]}": numbers[1][0]}
    return True


def cases(facts: Facts, text: str) -> Mapping[str, str]:
    """Condition -> the term that an axis is under it: a product, with a letter that a flag chooses
    as its number.
    """
    either = EITHER.fullmatch(text)
    if either:
        return {either[1]: either[2], f"not {either[1]}": either[3]}
    factors = re.findall(FACTOR, text)
    letter = next((factor for factor in factors if factor in facts.chosen), "1")
    rest = [factor for factor in factors if factor != letter]
    numbers = facts.chosen.get(letter, {"": "1" if letter in factors and not rest else ""})
    return {
        when: " * ".join(filter(lambda factor: factor not in ("", "1"), (number, *rest)))
        for when, number in numbers.items()
    }


def merged(facts: Facts, shapes: list[list[str]]) -> list[list[str]]:
    """Two shapes of one rank as one, where a flag says of which the first axis is."""
    words = [word for word, flags in facts.chosen.items() if "first" in flags.values()]
    first = [shape for shape in shapes for word in words if shape[0].startswith(word)]
    other = [s for s in shapes if first and s not in first and len(s) == len(first[0])]
    if len(first) != 1 or len(other) != 1:
        return shapes
    flag = next(iter(facts.chosen[words[0]]))
    both = [a if a == b else f"{flag}?{a}:{b}" for a, b in zip(first[0], other[0], strict=True)]
    return [both, *(shape for shape in shapes if shape not in (first[0], other[0]))]
