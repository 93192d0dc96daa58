"""Clauses about ranks: one, several, an end of them, or those of all tensors."""

from __future__ import annotations

from opgen.spec.drafting.facts import Facts
from opgen.spec.drafting.said import Said


def rank(facts: Facts, said: Said) -> list[str] | None:
    """The ranks that some tensors must have."""
    return _ranks(facts, said, list(said.claim.numbers()))


def rank_all(facts: Facts, said: Said) -> list[str] | None:
    """The ranks that all tensors must have."""
    names = tuple(parameter.name for parameter in facts.of_family("tensor"))
    every = said.claim._replace(lists={**said.claim.lists, "subject": names})
    return rank(facts, said._replace(claim=every))


def rank_above(facts: Facts, said: Said) -> list[str] | None:
    """The most axes. Where a page has a least rank too, these are two facts: a clause is about one
    of them.
    """
    (most,) = said.claim.numbers("number")
    if not facts.tensors(said.subjects):
        return None
    least: dict[str, int] = {}
    for name in said.subjects:
        key = facts.parameters[name].keys.get("rank")
        ranks = key.value if key and isinstance(key.value, list) else list(range(most + 1))
        least[name] = ranks[0]
        if ranks != list(range(ranks[0], most + 1)):
            return None
    rules = []
    for name in said.subjects:
        if least[name] == 0:
            facts.set(name, "rank", list(range(most + 1)), said.line)
            rules.append(f"{name}.rank")
        else:
            lines = facts.parameters[name].keys.pop("rank").at
            facts.relate(f"{name}.rank >= {least[name]}", lines[0], (name,), "rank_least")
            rules.append(facts.relate(f"{name}.rank <= {most}", lines[0], (name,), "rank_most"))
    return rules


def rank_outside(facts: Facts, said: Said) -> list[str] | None:
    """A least and a greatest number of axes."""
    (least,), (most,) = said.claim.numbers("number"), said.claim.numbers("number2")
    return _ranks(facts, said, list(range(least, most + 1)))


def _ranks(facts: Facts, said: Said, ranks: list[int]) -> list[str] | None:
    fits = facts.tensors(said.subjects) and all(
        facts.set(name, "rank", ranks, said.line) for name in said.subjects
    )
    return [f"{name}.rank" for name in said.subjects] if fits else None
