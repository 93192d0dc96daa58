"""Clauses about what the table does not list, or what tensors do not share, as the page says."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from opgen.spec.drafting import breached_limits, ranks
from opgen.spec.drafting.facts import ATTRIBUTES, Facts
from opgen.spec.drafting.placed_claim import PlacedClaim
from opgen.spec.drafting.rule_ids import rule_ids, written_out
from opgen.spec.drafting.statements import promotes

EXTENTS = ("shape", "axes", "numel")
"""What a clause about a shape may be about."""


def unsupported(facts: Facts, said: PlacedClaim) -> list[str] | None:
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


def unpromoted(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """No rule where all dtypes promote, unless the page says that they agree; a person decides
    which dtype the output has then.
    """
    names = (*said.subjects, *said.claim.of("names"))
    if not facts.tensors(names) or not promotes(facts, names) or facts.sharing("dtype", names):
        return None
    facts.todo(said.line, "dtypes of which any two promote", names)
    return []


def unsupported_all(facts: Facts, said: PlacedClaim) -> list[str] | None:
    """The same of all tensors and lists."""
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


def unfit(facts: Facts, said: PlacedClaim) -> list[str] | None:
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
