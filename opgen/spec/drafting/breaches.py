"""What a page answers with a code: each family of patterns puts rules under a clause, or none where
it is not sure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import cast

from opgen.spec.drafting import axes, ranks
from opgen.spec.drafting.facts import ATTRIBUTES, Clause, Facts, reached, rule_ids, written_out
from opgen.spec.drafting.said import Said
from opgen.spec.drafting.statements import broadcast_result, broadcastable, padded, relations
from opgen.spec.drafting.values import halves, items_above, length, limit

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
    pointers = [p for p in map(facts.parameters.get, said.subjects) if p and p.is_pointer]
    told = any("null" in pointer.keys for pointer in pointers)
    return [f"{pointer.name}.null" for pointer in pointers] if pointers and not told else None


def _null_of(facts: Facts, said: Said) -> list[str] | None:
    """All pointers that are not optional, or the tensors among them."""
    tensors = said.claim.says == "null_tensors"
    pointers = [p for p in facts.parameters.values() if p.is_pointer and "null" not in p.keys]
    return [f"{p.name}.null" for p in pointers if p.is_tensor or not tensors]


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
        rules += [
            name for name, rule in facts.sharing(attribute, subjects).items() if not rule.when
        ]
    return rules


def _unsupported(facts: Facts, said: Said) -> list[str] | None:
    """What the table lists; its column of shapes has ranks, and whose rank a tensor has."""
    what = [{"shape": "rank"}.get(one, one) for one in said.claim.of("what")]
    names = said.subjects
    if said.claim.of("what") == ("shape",):
        names = tuple(name for name in names if facts.parameters[name].is_tensor)
    rules = _keys(facts, said, names, what or ("dtype",))
    if rules is not None and "rank" in what:
        told = [(n, r) for n, r in facts.rules.items() if r.about[0] in names]
        rules += [n for n, r in told if r.attribute == "rank"]
        rules += [n for n, r in told if r.attribute == "shape" and facts.shape_lines & {*r.at}]
        rules += [f"{name}.shape" for name in names if written_out(facts, name)]
    return rules


def _unsupported_all(facts: Facts, said: Said) -> list[str] | None:
    return _keys(facts, said, (p.name for p in facts.of_family("tensor")), said.claim.of("what"))


def _keys(facts: Facts, said: Said, names: Iterable[str], what: Iterable[str]) -> list[str] | None:
    """The keys of tensors that list what is supported; of an array its lengths. A tensor of which
    the page lists nothing is left to a person.
    """
    rules, without = [], []
    for name, attribute in product(names, what):
        parameter = facts.parameters[name]
        key = "length" if parameter.family == "array" and attribute == "rank" else attribute
        if attribute not in ATTRIBUTES[:3]:
            return None
        if key in parameter.keys:
            rules.append(f"{name}.{key}")
        elif parameter.is_tensor or key == "length":
            without.append(name)
    if without and rules:
        facts.todo(said.line, "no list for this code in the table", without)
    return rules if rules or not without else None


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


def _unfit(facts: Facts, said: Said) -> list[str] | None:
    """What the table lists, and says that these tensors share."""
    if not facts.tensors(said.subjects):
        return None
    what = said.claim.of("what")
    rules = _keys(facts, said, said.subjects, [one for one in what if one != "shape"])
    if rules is None:
        return None
    told = (facts.sharing(attribute, said.subjects) for attribute in what)
    rules += [rule for shared in told for rule in shared]
    for name, (about, attribute) in rule_ids(facts).items() if "shape" in what else ():
        letters = attribute == "rank" and "shape" in facts.parameters[about[0]].keys
        if {*about} <= {*said.subjects} and (attribute in ("shape", "axes") or letters):
            rules.append(name)
    return rules or None


def _limits(key: str, sign: str, beyond: int) -> Family:
    """A limit of scalars or of all items of arrays."""

    def limits(facts: Facts, said: Said) -> list[str] | None:
        told = (key, sign, said.claim.numbers("number")[0], beyond)
        of = _least if key == "min" else limit
        rules = [of(facts, name, told, said.line) for name in said.subjects]
        return rules if all(rules) else None

    return limits


def _empty_axes(first: bool) -> Family:
    """An empty tensor lacks more than its first axis may, or one of its last axes: of a number of
    them, or of all but the batch axis, which only the greatest rank has.
    """

    def extents(facts: Facts, said: Said) -> list[str] | None:
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


FAMILIES: Mapping[str, Family] = {
    "null": _null,
    "null_all": _null_of,
    "null_tensors": _null_of,
    "null_masked": _null_masked,
    "empty_behind_first": _empty_axes(first=True),
    "empty_last": _empty_axes(first=False),
    "empty_behind_batch": _empty_axes(first=False),
    "unlike": _unlike,
    "unsupported": _unsupported,
    "unsupported_all": _unsupported_all,
    "unsupported_value": _unsupported_value,
    "not_below_extent": _not_below_extent,
    "length": lambda facts, said: (
        [f"{name}.length" for name in said.subjects] if length(facts, said) else None
    ),
    "item_below": _limits("min", ">=", 0),
    "item_not_above": _limits("min", ">", 1),
    "value_above": _limits("max", "<=", 0),
    "value_below": _limits("min", ">=", 0),
    "value_not_above": _limits("min", ">", 1),
    "half": lambda facts, said: halves(facts, said) or None,
    "items_not_above": lambda facts, said: items_above(facts, said) or None,
    "unfit": _unfit,
    "rank_all": ranks.rank_all,
    "product": lambda facts, said: ["product"],
    "rank": ranks.rank,
    "rank_above": ranks.rank_above,
    "rank_outside": ranks.rank_outside,
    "broadcast_result": lambda facts, said: broadcast_result(facts, said) or None,
    "rules": lambda facts, said: relations(facts, said) or None,
    "padded": lambda facts, said: padded(facts, said) or None,
    "same_axes": lambda facts, said: axes.same_axes(facts, said) or None,
    "axes_unlike": lambda facts, said: axes.axes_unlike(facts, said) or None,
    "no_broadcast": lambda facts, said: broadcastable(facts, said.line, said.subjects) or None,
}
"""Family of breaches -> the rules that stand under such a clause."""
