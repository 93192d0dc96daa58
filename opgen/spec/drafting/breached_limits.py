"""What a page answers with a code of lengths and values: the rules that limit them."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from opgen.spec.drafting.facts import Facts
from opgen.spec.drafting.placed_claim import PlacedClaim
from opgen.spec.drafting.rule_ids import rule_ids
from opgen.spec.drafting.values import limit

LIMITS = ("min", "max", "range", "enum", "least", "most", "relation")
"""Keys and attributes of rules that limit a value."""


def unsupported_value(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """The limits, or the words, to which a clause holds a value; where it names others, none."""
    limits = [*said.claim.numbers("number"), *said.claim.numbers("number2")]
    rules = []
    for name in said.subjects:
        keys = facts.parameters[name].keys
        if "range" in keys and (
            limits in ([], keys["range"].value) or limits * 2 == keys["range"].value
        ):
            rules.append(f"{name}.range")
        elif (
            "enum" in keys
            and limits in ([], _ends(keys["enum"].value))
            and _same_words(said, keys["enum"].value)
        ):
            rules.append(f"{name}.enum")
        elif limits and not facts.parameters[name].is_tensor and not keys:
            facts.set(name, "range", limits, said.line)
            rules.append(f"{name}.range")
        else:
            return None
    return rules


def _same_words(said: PlacedClaim, enum: object) -> bool:
    """Whether a clause that lists the numbers of an enum lists all."""
    told = said.claim.numbers()
    return not told or (isinstance(enum, dict) and {*told} == {*enum})


def _ends(enum: object) -> list[int]:
    return [min(enum), max(enum)] if isinstance(enum, dict) else []


def not_below_extent(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """Items of an array that a statement holds below extents of a tensor."""
    about = (*said.subjects, *said.claim.of("names"))
    return [n for n, r in facts.rules.items() if r.about == about and " < " in r.require] or None


def _least(facts: Facts, name: str, told: tuple[str, str, int, int], line: int) -> str:
    """The rule of a least value or extent. Where a page demands more than it has a code for, these
    are two facts: the clause is about the lower limit.
    """
    least, keys = told[2] + told[3], facts.parameters[name].keys
    if facts.parameters[name].is_tensor:
        return f"{name}.dims" if least == 0 and facts.set(name, "dims", [0, None], line) else ""
    if facts.parameters[name].family == "array" and "min" in keys:
        known = keys["min"]
        if isinstance(known.value, int) and known.value > least:
            del keys["min"]
            facts.relate(f"lowest({name}) >= {known.value}", known.at[0], (name,), "least")
    return limit(facts, name, told, line)


def lengths(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """The lengths of arrays; those of which the page says none are left to a person."""
    known = [name for name in said.subjects if "length" in facts.parameters[name].keys]
    if len(known) < len(said.subjects):
        if not known or any(facts.parameters[n].family != "array" for n in said.subjects):
            return None
        facts.todo(said.line, "no length for this code", {*said.subjects} - {*known})
    return [f"{name}.length" for name in known]


def limited(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """All that limits the values of these parameters; None where it is nothing."""
    rules = [
        rule
        for rule, (about, attribute) in rule_ids(facts).items()
        if about[:1] and about[0] in said.subjects and attribute in LIMITS
    ]
    limited = {name for name in said.subjects for rule in rules if name in rule_ids(facts)[rule][0]}
    return rules if limited == {*said.subjects} else None


def limits(key: str, sign: str, beyond: int) -> Callable[[Facts, PlacedClaim], list[str] | None]:
    """A limit of scalars or of all items of arrays."""

    def of_all(facts: Facts, said: PlacedClaim) -> list[str] | None:
        told = (key, sign, said.claim.numbers("number")[0], beyond)
        of = _least if key == "min" else limit
        rules = [of(facts, name, told, said.line) for name in said.subjects]
        return rules if all(rules) else None

    return of_all


def empty_axes(first: bool) -> Callable[[Facts, PlacedClaim], list[str] | None]:
    """An empty tensor lacks more than its first axis may, or one of its last axes: of a number of
    them, or of all but the batch axis, which only the greatest rank has.
    """

    def extents(facts: Facts, said: PlacedClaim) -> list[str] | None:
        (name, *more), counts = said.subjects, said.claim.numbers("number")
        ranks = facts.parameters[name].keys.get("rank")
        if more or ranks is None or set(said.claim.of("names")) - {name}:
            return None
        least, most = (pick(cast(list[int], ranks.value)) for pick in (min, max))
        rules = []
        for axis in range(1, counts[0] + 1 if counts else most):
            when = f"{name}.rank > {axis}" if first and axis >= least else ""
            when = f"{name}.rank == {most}" if when and axis == most - 1 else when
            rules.append(
                facts.relate(
                    f"{name}.shape[-{axis}] >= 1", said.line, (name,), f"extent_{axis}", when
                )
            )
        return rules

    return extents
