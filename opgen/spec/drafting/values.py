"""What a page says of values: lengths and items of arrays, limits of numbers, words of enums."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from opgen.calls.kinds import KINDS, NUMERIC
from opgen.spec.drafting.conditions import spatial
from opgen.spec.drafting.facts import Facts, Key
from opgen.spec.drafting.placed_claim import PlacedClaim

NUMERALS = {"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5}


def length(facts: Facts, said: PlacedClaim) -> bool:
    """Lengths of arrays."""
    return bool(said.subjects) and all(
        facts.parameters[name].family in ("array", "list")
        and facts.set(name, "length", list(said.claim.numbers()), said.line)
        for name in said.subjects
    )


def length_of(facts: Facts, said: PlacedClaim) -> bool:
    """A length that is the rank of a tensor less a number."""
    (name, *more), (less,) = said.claim.of("names"), said.claim.of("number")
    told = [f"{name}.rank - {less}"]
    return not more and all(facts.set(one, "length", told, said.line) for one in said.subjects)


def slots(facts: Facts, said: PlacedClaim) -> bool:
    """Lengths with the names of their items, which the page has in brackets."""
    (name,) = said.subjects if len(said.subjects) == 1 else ("",)
    if not name or facts.parameters[name].family != "array":
        return False
    items: dict[int, list[object]] = {}
    others: dict[int, str] = {}
    for part in said.claim.of("slots"):
        number, inside = part.rstrip(")").split("(", 1)
        fallback = re.fullmatch(rf"数值与(\w+?)的?数值保持一致|{name}=(\w+)", inside)
        other = (fallback[1] or fallback[2]) if fallback else ""
        if other in facts.parameters:
            others[int(number)] = other
        elif re.fullmatch(r"\w+(?:=\w+)*|\w+(?:,\w+)+", inside, re.ASCII):
            items[int(number)] = [inside.split("=")] if "=" in inside else [*inside.split(",")]
        else:
            return False
    last = items[max(items)] if items else []
    slots = {length: last_slots(facts, other) for length, other in others.items()}
    fits = all(len(told) == length for length, told in items.items())
    if not last or not fits or any(len(told) != len(last) for told in slots.values()):
        return False
    lengths = [int(part.split("(")[0]) for part in said.claim.of("slots")]
    otherwise = {n: dict(zip(map(str, last), told, strict=True)) for n, told in slots.items()}
    told = {"length": lengths, "items": items, **({"otherwise": otherwise} if otherwise else {})}
    return all(facts.set(name, key, value, said.line) for key, value in told.items())


def bound(key: str, sign: str, beyond: int) -> Callable[[Facts, PlacedClaim], bool]:
    """A limit of whole numbers as a key, ``beyond`` the number that the sentence has; of others as
    a rule.
    """

    def bound(facts: Facts, said: PlacedClaim) -> bool:
        number = said.claim.numbers("number")[0] if said.claim.of("number") else 0
        told = key, sign, number, beyond
        return bool(said.subjects) and all(
            said.claim.of("value")  # "greater than 0" alone may be about an extent
            and facts.relate(f"values({name}) {sign} {number}", said.line, (name,), f"values_{key}")
            if facts.parameters[name].is_tensor
            else limit(facts, name, told, said.line)
            for name in said.subjects
        )

    return bound


def limit(facts: Facts, name: str, told: tuple[str, str, int, int], line: int) -> str:
    """The id of the rule that a parameter's value has a limit; empty where it cannot have one."""
    key, sign, number, beyond = told
    parameter = facts.parameters[name]
    term = KINDS[parameter.kind].element.term
    if parameter.is_tensor or term not in NUMERIC:
        return ""
    if term == "int":
        return f"{name}.{key}" if facts.set(name, key, number + beyond, line) else ""
    return facts.relate(f"{name} {sign} {number}", line, (name,), key)


above = bound("min", ">", 1)
least = bound("min", ">=", 0)


def limits(facts: Facts, said: PlacedClaim) -> bool:
    """The least and the greatest of whole numbers; where only one is told it is both."""
    least = said.claim.numbers("number")
    ends = [*least, *(said.claim.numbers("number2") or least)]
    return bool(said.subjects) and all(
        KINDS[facts.parameters[name].kind].element.term in NUMERIC
        and not facts.parameters[name].is_tensor
        and facts.set(name, "range", ends, said.line)
        for name in said.subjects
    )


def word(facts: Facts, said: PlacedClaim) -> bool:
    """One number and its word, below the sentence that announces them: of the only parameter that
    the vendor declares as a small number.
    """
    names = said.subjects or [n for n, p in facts.parameters.items() if p.kind == "int8"]
    if len(names) != 1 or facts.parameters[names[0]].kind != "int8":
        return False
    key = facts.parameters[names[0]].keys.setdefault("enum", Key({}, []))
    (number,) = said.claim.numbers("number")
    known = key.value if isinstance(key.value, dict) else {number: ""}
    (told,) = said.claim.of("word")
    key.at += [said.line] if said.line not in key.at else []
    return bool(known.setdefault(number, told) == told)


def listed_word(facts: Facts, said: PlacedClaim) -> bool:
    """One word that a string may be, below the sentence that announces them."""
    if len(said.subjects) != 1 or facts.parameters[said.subjects[0]].kind != "string":
        return False
    key = facts.parameters[said.subjects[0]].keys.setdefault("enum", Key([], []))
    known = cast(list[str], key.value)
    known += [word for word in said.claim.of("words") if word not in known]
    key.at += [said.line] if said.line not in key.at else []
    return True


def enum(facts: Facts, said: PlacedClaim) -> bool:
    """Numbers, each with a word."""
    pairs = [re.match(r"(\d+)[(:](\w+)", part) for part in said.claim.of("enum")]
    words = {int(pair[1]): pair[2] for pair in pairs if pair}
    return bool(said.subjects) and all(
        facts.parameters[name].family == "scalar" and facts.set(name, "enum", words, said.line)
        for name in said.subjects
    )


def items_above(facts: Facts, said: PlacedClaim, beyond: int = 1) -> list[str]:
    """The rules that some items of an array, counted from either end, are above a number, or by
    ``beyond`` at least another.
    """
    (array,), (number,) = said.subjects or ("",), said.claim.numbers("number")
    length = facts.parameters[array].keys.get("length") if array else None
    if not length or not isinstance(length.value, list) or len(length.value) != 1:
        return []
    (size,), (which,) = length.value, said.claim.of("which")
    count = NUMERALS[which[-2]]
    items = range(size - count, size) if which.startswith("最后") else range(count - 1, count)
    if items[0] < 0 or items[-1] >= size:
        return []
    return [
        facts.relate(f"{array}[{i}] >= {number + beyond}", said.line, (array,), f"{i}_least")
        for i in items
    ]


def halves(facts: Facts, said: PlacedClaim) -> list[str]:
    """The rules that each item of an array is at most half of that of another; none where their
    items have no names.
    """
    (array,), (other,) = said.subjects or ("",), said.claim.of("names")
    if not array or "length" not in facts.parameters[array].keys:
        return []
    slots, whole = last_slots(facts, array), last_slots(facts, other)
    if not slots or len(slots) != len(whole):
        return []
    pairs = zip(slots, whole, strict=True)
    return [
        facts.relate(f"{slot} <= {size} / 2", said.line, (array, other), f"{slot}_half")
        for slot, size in pairs
    ]


def last_slots(facts: Facts, name: str) -> list[str]:
    """The names of the items of an array where it is longest."""
    items = facts.parameters[name].keys.get("items")
    return items.value[max(items.value)] if items and isinstance(items.value, dict) else []


def half(facts: Facts, said: PlacedClaim) -> bool:
    """Items from 0 to half of those of another array."""
    return bool(halves(facts, said)) and all(
        facts.set(name, "min", 0, said.line) for name in said.subjects
    )


def length_also(facts: Facts, said: PlacedClaim) -> bool:
    """A length for one number of axes, where it is the rank of a tensor less 2: the same or one
    more.
    """
    (array,), (tensor, ranks) = said.subjects or ("",), spatial(facts)
    known = facts.parameters[array].keys.get("length") if array else None
    if not known or known.value != [f"{tensor}.rank - 2"]:
        return False
    (length,), (dims,) = said.claim.numbers("number"), said.claim.numbers("number2")
    lengths = {rank: [rank - 2, *([length] if rank == dims + 2 else [])] for rank in ranks}
    known.value = {f"{tensor}.rank": lengths} if length != dims else known.value
    known.at.append(said.line)
    return True


def convolved(facts: Facts, said: PlacedClaim) -> bool:
    """The numbers of spatial axes of an operator: the ranks of the inputs whose formats have as
    many axes.
    """
    ranks = [int(number) + 2 for number in re.findall(r"\d", said.claim.of("dims")[0])]
    formats = {
        p.name: cast(list[str], p.keys.get("format", Key([], [])).value)
        for p in facts.parameters.values()
        if p.kind == "tensor" and "rank" not in p.keys
    }
    fit = [name for name, some in formats.items() if [*map(len, some)] == ranks]
    return bool(fit) and all(facts.set(name, "rank", ranks, said.line) for name in fit)
