"""Masks that ask for outputs: which item stands for which, and when a pointer may be null."""

from __future__ import annotations

from opgen.spec.drafting.facts import Facts
from opgen.spec.drafting.placed_claim import PlacedClaim


def masked(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """The rules that outputs may be null where their item of a mask is false; None where one is no
    output, or the mask none.
    """
    (mask, *more), (item,) = said.claim.of("names"), said.claim.of("number")
    written = all(facts.parameters[name].is_written for name in said.subjects)
    if more or facts.parameters[mask].kind != "bool_array" or not written:
        return None
    return [_asked_for(facts, name, f"{mask}[{item}]", said.line) for name in said.subjects]


def _asked_for(facts: Facts, name: str, term: str, line: int) -> str:
    """The rule that an output may be null where an item of a mask is false."""
    facts.parameters[name].keys.pop("null", None)  # "optional" said less
    facts.set(name, "null", f"not {term}", line)
    facts.set(name, "mask", term, line)
    return f"{name}.null"


def masks(facts: Facts, said: PlacedClaim) -> bool:
    """Outputs of which a mask asks for each, as many as a sentence lists in words."""
    outputs = [name for name, p in facts.parameters.items() if p.is_written]
    kinds = [facts.parameters[name].kind for name in said.subjects]
    return (kinds, len(outputs)) == (["bool_array"], len(said.claim.of("listed"))) and all(
        _asked_for(facts, name, f"{said.own}[{item}]", said.line)
        for item, name in enumerate(outputs)
    )
