"""What a page answers with a code: each family of patterns puts rules under a clause, or none where
it is not sure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain

from opgen.spec.drafting import axes, breached_limits, ranks
from opgen.spec.drafting.breached_lists import unfit, unpromoted, unsupported, unsupported_all
from opgen.spec.drafting.broadcasts import broadcast_result, broadcastable
from opgen.spec.drafting.facts import Clause, Facts, reached
from opgen.spec.drafting.masks import masked
from opgen.spec.drafting.placed_claim import PlacedClaim
from opgen.spec.drafting.relations import padded, relations
from opgen.spec.drafting.rule_ids import rule_ids
from opgen.spec.drafting.values import halves, items_above, length

Family = Callable[[Facts, PlacedClaim], list[str] | None]
"""From what a clause says to the rules that stand under it; None where that is not sure."""


def breach(facts: Facts, said: PlacedClaim, place: Clause) -> bool:
    """Whether a clause has become the place of rules, or a line of rules placed elsewhere, or is
    left to a person.
    """
    sure = not said.products and _asked_for(facts, said)
    families = said.claim.says.split(" and ") if sure else ()
    rules = [FAMILIES[family](facts, said) for family in families]
    told = [*chain(*(some or () for some in rules))]
    cited = [facts.places.setdefault(rule, place) == place for rule in told]
    if None in rules or not sure:
        return False
    if not any(cited):
        cited += [facts.cite(rule, place.line) for rule in told]
    return any(cited) or place.line in facts.undecided


def _asked_for(facts: Facts, said: PlacedClaim) -> bool:
    """Whether a condition in a clause is nothing but that a mask asks for the output."""
    masks = {facts.parameters[name].kind for name in said.claim.of("mask")}
    written = all(facts.parameters[name].is_written for name in said.subjects)
    return masks <= {"bool_array"} and (not masks or written)


def _null(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """What is no pointer is never null."""
    pointers = [p for p in map(facts.parameters.get, said.subjects) if p and p.is_pointer]
    told = any("null" in pointer.keys for pointer in pointers)
    return [f"{pointer.name}.null" for pointer in pointers] if pointers and not told else None


def _null_of(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """All pointers that are not optional, or the tensors or inputs among them."""
    inputs, outputs = ("tensor", "tensor_list"), ("output", "inout", "output_list")
    kinds = {"null_tensors": inputs + outputs, "null_inputs": inputs}.get(said.claim.says)
    pointers = [p for p in facts.parameters.values() if p.is_pointer and "null" not in p.keys]
    left = {p.name for p in pointers if kinds == inputs and p.name.endswith("Optional")}
    told = [p.name for p in pointers if kinds is None or p.kind in kinds]
    return [f"{name}.null" for name in told if name not in {*said.claim.of("names"), *left}]


def _null_sought(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """The same, and outputs that are asked for: by a mask, or a person says when."""
    left = {name for name in said.claim.of("sought") if "mask" not in facts.parameters[name].keys}
    if left:
        facts.todo(said.line, "null unless it is computed", left)
    rules = _null(facts, said)
    return rules and rules + [f"{name}.null" for name in {*said.claim.of("sought")} - left]


def _all_of(*attributes: str) -> Family:
    """All rules about these keys and attributes."""
    return lambda facts, said: [r for r, (_, a) in rule_ids(facts).items() if a in attributes]


def _of_input_shapes(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """What relates shapes of inputs."""
    tensors = {parameter.name for parameter in facts.of_family("tensor")}
    written = {name for name in tensors if facts.parameters[name].is_written}
    shapes = ("rank", "shape", "axes", "numel", "broadcast", "relation")
    return [
        rule
        for rule, (about, attribute) in rule_ids(facts).items()
        if len({*about} & tensors) > (attribute != "axes")
        and not {*about} & written
        and attribute in shapes
    ]


def _of_inputs(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """The same, and what limits other inputs."""
    tensors = {parameter.name for parameter in facts.of_family("tensor")}
    limits = [
        rule
        for rule, (about, attribute) in rule_ids(facts).items()
        if about and about[0] not in tensors and attribute in breached_limits.LIMITS
    ]
    return [*(_of_input_shapes(facts, said) or ()), *limits]


def _unlike(facts: Facts, said: PlacedClaim) -> list[str] | None:
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
        rules += facts.sharing("types", subjects) if attribute == "dtype" else []
    return rules


FAMILIES: Mapping[str, Family] = {
    "null": _null,
    "null_all": _null_of,
    "null_tensors": _null_of,
    "null_inputs": _null_of,
    "null_masked": masked,
    "empty_behind_first": breached_limits.empty_axes(first=True),
    "empty_last": breached_limits.empty_axes(first=False),
    "empty_behind_batch": breached_limits.empty_axes(first=False),
    "null_sought": _null_sought,
    "of_shapes": _all_of("rank", "rank_least", "rank_most", "shape", "axes"),
    "of_inputs": _of_inputs,
    "of_input_shapes": _of_input_shapes,
    "of_dtypes": _all_of("dtype", "types"),
    "unlike_all": lambda facts, said: [*facts.sharing(said.claim.of("what")[0], facts.parameters)],
    "unlike": _unlike,
    "unsupported": unsupported,
    "unsupported_all": unsupported_all,
    "unsupported_inputs": lambda facts, said: unsupported(
        facts, said.about(p.name for p in facts.parameters.values() if p.kind == "tensor")
    ),
    "unpromoted": unpromoted,
    "unsupported_value": breached_limits.unsupported_value,
    "not_below_extent": breached_limits.not_below_extent,
    "length": lambda facts, said: (
        [f"{name}.length" for name in said.subjects] if length(facts, said) else None
    ),
    "item_below": breached_limits.limits("min", ">=", 0),
    "item_not_above": breached_limits.limits("min", ">", 1),
    "value_above": breached_limits.limits("max", "<=", 0),
    "value_below": breached_limits.limits("min", ">=", 0),
    "value_not_above": breached_limits.limits("min", ">", 1),
    "half": lambda facts, said: halves(facts, said) or None,
    "items_below": lambda facts, said: items_above(facts, said, 0) or None,
    "items_not_above": lambda facts, said: items_above(facts, said) or None,
    "unfit": unfit,
    "rank_all": ranks.rank_all,
    "product": lambda facts, said: ["product"],
    "lengths": breached_limits.lengths,
    "limited": breached_limits.limited,
    "rank": ranks.rank,
    "rank_below": ranks.rank_below,
    "rank_above": ranks.rank_above,
    "rank_outside": ranks.rank_outside,
    "broadcast_result": lambda facts, said: broadcast_result(facts, said) or None,
    "rules": lambda facts, said: relations(facts, said) or None,
    "padded": lambda facts, said: padded(facts, said) or None,
    "same_axes": lambda facts, said: axes.same_axes(facts, said) or None,
    "axes_unlike": lambda facts, said: axes.axes_unlike(facts, said) or None,
    "no_broadcast": lambda facts, said: (
        broadcastable(facts, said.line, (*said.subjects, *said.claim.of("names"))) or None
    ),
}
"""Family of breaches -> the rules that stand under such a clause."""
