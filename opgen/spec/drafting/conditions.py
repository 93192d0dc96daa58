"""Conditions with which sentences begin: a flag, a null pointer, a number of spatial axes."""

from __future__ import annotations

import re
from typing import cast

from opgen.spec.drafting.facts import Facts, Key
from opgen.spec.drafting.grammar import grammar
from opgen.spec.drafting.patterns import DIMS, alternatives

RANKS = {3: "W", 4: "HW", 5: "DHW"}
"""Rank of a tensor -> what pages call its spatial axes."""


def condition(facts: Facts, words: str) -> tuple[str, str]:
    """The conditions with which a sentence begins, as one term, and the rest of the sentence; the
    term is empty where they hold for every call, or where it begins with none that opgen knows.
    """
    names = {
        "flag": [name for name, p in facts.parameters.items() if p.kind == "bool"],
        "pointer": [name for name, p in facts.parameters.items() if p.is_pointer],
    }
    lists = {"dims": DIMS, **{word: alternatives(told) or "(?!)" for word, told in names.items()}}
    shown = {word: f"(?P<{word}>{pattern})" for word, pattern in lists.items()}
    terms, rest = [], words
    for row in grammar().conditions:
        match = re.match(row.pattern.format(**shown), rest)
        if match:
            told = match.groupdict()
            told["ranks"] = of_dims(facts, told["dims"]) if "dims" in told else ""
            if told["ranks"] is None:
                return "", words
            terms.append(row.says.format(**told))
            rest = rest[match.end() :]
    return " and ".join(filter(None, terms)), rest


def spatial(facts: Facts) -> tuple[str, list[int]]:
    """The tensor whose rank less 2 arrays have as their length, and its ranks; nothing where the
    page has none.
    """
    lengths = str([p.keys["length"].value for p in facts.parameters.values() if "length" in p.keys])
    told = {
        name: cast(list[int], parameter.keys.get("rank", Key([], [])).value)
        for name, parameter in facts.parameters.items()
        if re.search(rf"'{name}\.rank(?: - 2)?'", lengths)
    }
    fit = [(name, ranks) for name, ranks in told.items() if ranks and {*ranks} <= {*RANKS}]
    return fit[0] if len(told) == len(fit) == 1 else ("", [])


def of_dims(facts: Facts, dims: str) -> str | None:
    """The term that the spatial axes are so many, empty where they always are; None where the page
    does not say of which tensor.
    """
    name, ranks = spatial(facts)
    told = [int(number) + 2 for number in re.findall(r"\d", dims)]
    term = f"{name}.rank in {(*told,)}" if len(told) > 1 else f"{name}.rank == {told[0]}"
    return None if not {*told} <= {*ranks} else "" if told == ranks else term


def spatial_slots(facts: Facts, name: str) -> list[str]:
    """The items of an array of a value for each spatial axis, by the array's name and the axis;
    none where it has another length.
    """
    (tensor, ranks), keys = spatial(facts), facts.parameters[name].keys
    if not ranks or not re.search(rf"'{tensor}\.rank(?: - 2)?'", str(keys.get("length"))):
        return []
    items = {rank - 2: [f"{name}{axis}" for axis in RANKS[rank]] for rank in ranks}
    facts.set(name, "items", items, keys["length"].at[0])
    return items[max(items)]
