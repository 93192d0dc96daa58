"""What a page answers with a code: each family of patterns puts rules under a clause, or none where
it is not sure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from opgen.spec.drafting import ranks
from opgen.spec.drafting.facts import ATTRIBUTES, Clause, Facts, reached
from opgen.spec.drafting.said import Said
from opgen.spec.drafting.statements import broadcastable, numel
from opgen.spec.drafting.values import halves, items_above, limit

Family = Callable[[Facts, Said], list[str] | None]
"""From what a clause says to the rules that stand under it; None where that is not sure."""


def breach(facts: Facts, said: Said, place: Clause) -> bool:
    """Whether a clause has become the place of rules."""
    sure = not said.products and _asked_for(facts, said)
    rules = FAMILIES[said.claim.says](facts, said) if sure else None
    for rule in rules or ():
        facts.places.setdefault(rule, place)
    return rules is not None


def _asked_for(facts: Facts, said: Said) -> bool:
    """Whether a condition in a clause is nothing but that a mask asks for the output."""
    masks = {facts.parameters[name].kind for name in said.claim.of("mask")}
    kinds = {facts.parameters[name].kind for name in said.subjects}
    return masks <= {"bool_array"} and (not masks or kinds == {"output"})


def _null(facts: Facts, said: Said) -> list[str] | None:
    """What is no pointer is never null."""
    names = [name for name in said.subjects if facts.parameters[name].is_pointer]
    return _nulls(facts, names) if names else None


def _nulls(facts: Facts, names: Iterable[str]) -> list[str] | None:
    names = tuple(names)
    for name in names:
        parameter = facts.parameters[name]
        if not parameter.is_pointer or "null" in parameter.keys:
            return None
    return [f"{name}.null" for name in names]


def _null_of(tensors: bool) -> Family:
    """All pointers that are not optional, or the tensors among them."""

    def nulls(facts: Facts, said: Said) -> list[str] | None:
        pointers = [p for p in facts.parameters.values() if p.is_pointer]
        wanted = [p for p in pointers if p.is_tensor or not tensors]
        return _nulls(facts, (p.name for p in wanted if "null" not in p.keys))

    return nulls


def _null_masked(facts: Facts, said: Said) -> list[str] | None:
    """An output that may be null where its item of a mask is false."""
    (mask, *more), (item,) = said.claim.of("names"), said.claim.of("number")
    if more or facts.parameters[mask].kind != "bool_array":
        return None
    for name in said.subjects:
        parameter = facts.parameters[name]
        if parameter.kind != "output":
            return None
        parameter.keys.pop("null", None)  # "optional" said less
        facts.set(name, "null", f"not {mask}[{item}]", said.line)
        facts.set(name, "mask", f"{mask}[{item}]", said.line)
    return [f"{name}.null" for name in said.subjects]


def _unlike(facts: Facts, said: Said) -> list[str] | None:
    """Rules that join all of these tensors: those that the page states, and where these leave gaps,
    new ones.
    """
    subjects = facts.in_order((*said.subjects, *said.claim.of("names")))
    if len(subjects) < 2 or not facts.tensors(subjects):
        return None
    rules: list[str] = []
    for attribute in said.claim.of("what"):
        known = facts.sharing(attribute, subjects).values()
        pairs = [frozenset(rule.about) for rule in known if not rule.when]
        for subject in subjects[1:]:
            if subject not in reached(subjects[0], pairs):
                pairs.append(frozenset((subjects[0], subject)))
                require = f"{subject}.{attribute} == {subjects[0]}.{attribute}"
                facts.relate(require, said.line, (subject, subjects[0]), attribute)
        shared = facts.sharing(attribute, subjects)
        rules += [name for name, rule in shared.items() if not rule.when]
    return rules


def _unsupported(facts: Facts, said: Said) -> list[str] | None:
    """What the table lists; its column of shapes has ranks, and whose rank a tensor has."""
    what = [{"shape": "rank"}.get(one, one) for one in said.claim.of("what")]
    names = said.subjects
    if said.claim.of("what") == ("shape",):
        names = tuple(name for name in names if facts.parameters[name].is_tensor)
    rules = _keys(facts, names, what or ("dtype",))
    if rules is not None and "rank" in what:
        told = [(n, r) for n, r in facts.rules.items() if r.about[0] in names]
        rules += [n for n, r in told if r.attribute == "rank"]
        rules += [n for n, r in told if r.attribute == "shape" and facts.shape_lines & {*r.at}]
    return rules


def _unsupported_all(facts: Facts, said: Said) -> list[str] | None:
    return _keys(facts, (p.name for p in facts.of_family("tensor")), said.claim.of("what"))


def _keys(facts: Facts, names: Iterable[str], what: Iterable[str]) -> list[str] | None:
    """The keys of tensors that list what is supported; of an array its lengths."""
    rules = []
    for name in names:
        parameter = facts.parameters[name]
        for attribute in what:
            key = "length" if parameter.family == "array" and attribute == "rank" else attribute
            if attribute not in ATTRIBUTES[:3] or (
                key not in parameter.keys and (parameter.is_tensor or key == "length")
            ):
                return None
            if key in parameter.keys:
                rules.append(f"{name}.{key}")
    return rules


def _unsupported_value(facts: Facts, said: Said) -> list[str] | None:
    limits = [*said.claim.numbers("number"), *said.claim.numbers("number2")]
    rules = []
    for name in said.subjects:
        keys = facts.parameters[name].keys
        if "range" in keys and limits in ([], keys["range"].value):
            rules.append(f"{name}.range")
        elif "enum" in keys and limits in ([], _ends(keys["enum"].value)):
            rules.append(f"{name}.enum")
        elif limits and not facts.parameters[name].is_tensor and not keys:
            facts.set(name, "range", limits, said.line)
            rules.append(f"{name}.range")
        else:
            return None
    return rules


def _ends(enum: object) -> list[int]:
    return [min(enum), max(enum)] if isinstance(enum, dict) else []


def _not_below_extent(facts: Facts, said: Said) -> list[str] | None:
    """Items of an array that a statement holds below extents of a tensor."""
    about = (*said.subjects, *said.claim.of("names"))
    told = facts.rules.items()
    return [n for n, r in told if r.about == about and r.attribute.endswith("_below")] or None


def _length(facts: Facts, said: Said) -> list[str] | None:
    rules = []
    for name in said.subjects:
        if facts.parameters[name].family != "array":
            return None
        if not facts.set(name, "length", list(said.claim.numbers()), said.line):
            return None
        rules.append(f"{name}.length")
    return rules


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


def _unfit(facts: Facts, said: Said) -> list[str] | None:
    """What the table lists, and says that these tensors share."""
    if not facts.tensors(said.subjects):
        return None
    rules = _keys(facts, said.subjects, said.claim.of("what"))
    if rules is None:
        return None
    told = (facts.sharing(attribute, said.subjects) for attribute in said.claim.of("what"))
    return [*rules, *(rule for shared in told for rule in shared)]


def _below(sign: str, beyond: int) -> Family:
    """A least value of scalars or of all items of arrays."""

    def below(facts: Facts, said: Said) -> list[str] | None:
        (number,) = said.claim.numbers("number")
        told = ("min", sign, number, beyond)
        rules = [_least(facts, name, told, said.line) for name in said.subjects]
        return rules if all(rules) else None

    return below


def _above(facts: Facts, said: Said) -> list[str] | None:
    """A greatest value of scalars."""
    (number,) = said.claim.numbers("number")
    told = ("max", "<=", number, 0)
    rules = [limit(facts, name, told, said.line) for name in said.subjects]
    return rules if all(rules) else None


def _broadcast_result(facts: Facts, said: Said) -> list[str] | None:
    """An output that has the shape to which two inputs broadcast."""
    (written, *more), names = said.subjects, facts.in_order(said.claim.of("names"))
    if more or len(names) != 2 or facts.parameters[written].kind != "output":
        return None
    shapes = ", ".join(f"{name}.shape" for name in names)
    require = f"{written}.shape == broadcast({shapes})"
    return [facts.relate(require, said.line, (written, *names), "shape")]


def _empty_axes(first: bool) -> Family:
    """An empty tensor lacks more than its first axis may, or one of its last axes."""

    def extents(facts: Facts, said: Said) -> list[str] | None:
        (name, *more), counts = said.subjects, said.claim.numbers("number")
        ranks = facts.parameters[name].keys.get("rank")
        if more or ranks is None or set(said.claim.of("names")) - {name}:
            return None
        least, most = (pick(cast(list[int], ranks.value)) for pick in (min, max))
        rules = []
        for axis in range(1, most if first else counts[0] + 1):
            when = f"{name}.rank > {axis}" if first and axis >= least else ""
            when = f"{name}.rank == {most}" if when and axis == most - 1 else when
            require = f"{name}.shape[-{axis}] >= 1"
            rules.append(facts.relate(require, said.line, (name,), f"extent_{axis}", when))
        return rules

    return extents


FAMILIES: Mapping[str, Family] = {
    "null": _null,
    "null_all": _null_of(tensors=False),
    "null_tensors": _null_of(tensors=True),
    "null_masked": _null_masked,
    "empty_behind_first": _empty_axes(first=True),
    "empty_last": _empty_axes(first=False),
    "unlike": _unlike,
    "unsupported": _unsupported,
    "unsupported_all": _unsupported_all,
    "unsupported_value": _unsupported_value,
    "not_below_extent": _not_below_extent,
    "length": _length,
    "item_below": _below(">=", 0),
    "item_not_above": _below(">", 1),
    "value_above": _above,
    "value_below": _below(">=", 0),
    "value_not_above": _below(">", 1),
    "half": lambda facts, said: halves(facts, said) or None,
    "numel": lambda facts, said: numel(facts, said) or None,
    "items_not_above": lambda facts, said: items_above(facts, said) or None,
    "unfit": _unfit,
    "rank_all": ranks.rank_all,
    "product": lambda facts, said: ["product"],
    "rank": ranks.rank,
    "rank_above": ranks.rank_above,
    "rank_outside": ranks.rank_outside,
    "broadcast_result": _broadcast_result,
    "no_broadcast": lambda facts, said: broadcastable(facts, said.line, said.subjects) or None,
}
"""Family of breaches -> the rules that stand under such a clause."""
