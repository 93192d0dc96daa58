"""What a page answers with a code: each family of patterns puts rules under a clause, or none where
it is not sure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, product

from opgen.spec.drafting import axes, breached_limits, ranks
from opgen.spec.drafting.facts import ATTRIBUTES, Clause, Facts, reached, rule_ids, written_out
from opgen.spec.drafting.masks import masked
from opgen.spec.drafting.placed_claim import PlacedClaim
from opgen.spec.drafting.statements import (
    broadcast_result,
    broadcastable,
    padded,
    promotes,
    relations,
)
from opgen.spec.drafting.values import halves, items_above, length

Family = Callable[[Facts, PlacedClaim], list[str] | None]
"""From what a clause says to the rules that stand under it; None where that is not sure."""


EXTENTS = ("shape", "axes", "numel")
"""What a clause about a shape may be about."""


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


def _unsupported(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """What the table lists; its column of shapes has ranks, and whose rank a tensor has."""
    what = [{"shape": "rank"}.get(one, one) for one in said.claim.of("what")]
    names = said.subjects
    if said.claim.of("what") == ("shape",):
        names = tuple(name for name in names if facts.parameters[name].is_tensor)
    rules = _keys(facts, said, names, what or ("dtype",))
    if rules is not None and "rank" in what:
        _partial(facts, said)
        told = [(n, r) for n, r in facts.rules.items() if r.about[0] in names]
        rules += [n for n, r in told if r.attribute == "rank"]
        rules += [n for n, r in told if r.attribute == "shape" and facts.shape_lines & {*r.at}]
        written = [name for name in names if written_out(facts, name)]
        rules += [f"{name}.shape" for name in written]
        rules += [n for n, r in told if r.attribute == "axes" and r.about[0] in written]
    return rules


def _unpromoted(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """No rule where all dtypes promote, unless the page says that they agree; a person decides
    which dtype the output has then.
    """
    names = (*said.subjects, *said.claim.of("names"))
    if not facts.tensors(names) or not promotes(facts, names) or facts.sharing("dtype", names):
        return None
    facts.todo(said.line, "dtypes of which any two promote", names)
    return []


def _unsupported_all(facts: Facts, said: PlacedClaim) -> list[str] | None:
    tensors = (*facts.of_family("tensor"), *facts.of_family("list"))
    return _keys(facts, said, (p.name for p in tensors), said.claim.of("what"))


def _keys(
    facts: Facts, said: PlacedClaim, names: Iterable[str], what: Iterable[str]
) -> list[str] | None:
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


def _partial(facts: Facts, said: PlacedClaim) -> None:
    """A clause about shapes is taken in part where a sentence about one of them is left."""
    left = facts.in_order({*said.subjects} & facts.shapes_left)
    if "shape" in said.claim.of("what") and left:
        facts.todo(said.line, "a shape that is drafted in part", left)


def _unfit(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """What the table lists, and says that these tensors share."""
    what = said.claim.of("what")
    arrays = [name for name in said.subjects if facts.parameters[name].family == "array"]
    tensors = [name for name in said.subjects if name not in arrays]
    lengths = (
        breached_limits.lengths(facts, said.about(arrays))
        if what == ("shape",) or not arrays
        else None
    )
    rules = _keys(facts, said, tensors, [one for one in what if one != "shape"])
    if rules is None or lengths is None or not facts.tensors(tensors):
        return None
    rules += lengths
    if "shape" in what:
        rules += [f"{name}.rank" for name in ranks.below_most(facts, tensors)]
    shared_types = ("types",) if "dtype" in what else ()
    told = (facts.sharing(attribute, said.subjects) for attribute in (*what, *shared_types))
    rules += [rule for shared in told for rule in shared]
    for name, (about, attribute) in rule_ids(facts).items() if "shape" in what else ():
        letters = attribute == "rank" and "shape" in facts.parameters[about[0]].keys
        named = {*about} <= {*said.subjects} or attribute in ("axes", "numel")
        if named and about[:1] and about[0] in said.subjects and (attribute in EXTENTS or letters):
            rules.append(name)
    _partial(facts, said)
    return rules or None


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
    "unsupported": _unsupported,
    "unsupported_all": _unsupported_all,
    "unsupported_inputs": lambda facts, said: _unsupported(
        facts, said.about(p.name for p in facts.parameters.values() if p.kind == "tensor")
    ),
    "unpromoted": _unpromoted,
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
    "unfit": _unfit,
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
