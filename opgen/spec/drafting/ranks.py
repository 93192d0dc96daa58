"""Clauses about ranks: one, several, an end of them, or those of all tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from opgen.spec.drafting.cells import MOST_RANK
from opgen.spec.drafting.facts import Facts, Key
from opgen.spec.drafting.placed_claim import PlacedClaim


def below_most(facts: Facts, names: Iterable[str]) -> list[str]:
    """The tensors of which a page lists ranks, and not all up to the most that there are."""
    told = {name: facts.parameters[name].keys.get("rank") for name in names}
    return [
        name for name, key in told.items() if key and cast(list[int], key.value)[-1] < MOST_RANK
    ]


def rank(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """The ranks that some tensors must have."""
    return _ranks(facts, said, [*said.claim.numbers(), *said.claim.numbers("number2")])


def rank_all(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """The ranks that all tensors must have."""
    return rank(facts, said.about(parameter.name for parameter in facts.of_family("tensor")))


def rank_above(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """The most axes. Where a page has a least rank too, these are two facts: a clause is about one
    of them. Of a tensor that always has fewer axes it says no more than its list.
    """
    (most,) = said.claim.numbers("number")
    every, keys = [*range(most + 1)], {n: facts.parameters[n].keys for n in said.subjects}
    if not facts.tensors(keys) or any("shape" in told for told in keys.values()):
        return None
    known = {n: cast(list[int], told.get("rank", Key(every, [])).value) for n, told in keys.items()}
    if any(ranks[-1] >= most and ranks != every[ranks[0] :] for ranks in known.values()):
        return None
    rules = []
    for name, ranks in known.items():
        if ranks[0] == 0 or ranks[-1] < most:
            facts.set(name, "rank", ranks, said.line)
            rules.append(f"{name}.rank")
        else:
            lines = keys[name].pop("rank").at
            end = facts.relate(f"{name}.rank >= {ranks[0]}", lines[0], (name,), "rank_least")
            if f"{name}.rank" in facts.places:
                facts.places[end] = facts.places.pop(f"{name}.rank")
            rules.append(facts.relate(f"{name}.rank <= {most}", lines[0], (name,), "rank_most"))
    return rules


def rank_below(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """The fewest axes, with which their lists begin, or the fewest items of arrays."""
    (least,) = said.claim.numbers("number")
    ends = {
        r.about[0]: n for n, r in facts.rules.items() if r.require.endswith(f".rank >= {least}")
    }
    for name in {*said.subjects} - ends.keys():
        if facts.parameters[name].family == "array":
            ends[name] = facts.relate(f"len({name}) >= {least}", said.line, (name,), "least")
            continue
        key = facts.parameters[name].keys.get("rank")
        if key is None or cast(list[int], key.value)[0] != least:
            return None
    return [ends.get(name, f"{name}.rank") for name in said.subjects]


def rank_outside(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """A least and a greatest number of axes."""
    (least,), (most,) = said.claim.numbers("number"), said.claim.numbers("number2")
    return _ranks(facts, said, list(range(least, most + 1)))


def _ranks(facts: Facts, said: PlacedClaim, ranks: list[int]) -> list[str] | None:
    fits = facts.tensors(said.subjects) and all(
        facts.set(name, "rank", ranks, said.line) for name in said.subjects
    )
    return [f"{name}.rank" for name in said.subjects] if fits else None
