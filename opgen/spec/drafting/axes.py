"""What a page says of axes: the letters that it writes, and axes that it names by letter."""

from __future__ import annotations

import re
from typing import cast

from opgen.spec.drafting.facts import Facts, Key, Letters, axes_of, bound, per_product
from opgen.spec.drafting.patterns import Claim
from opgen.spec.drafting.said import Said

SPATIAL = {3: "L", 4: "HW", 5: "DHW"}
"""Most axes of a tensor -> what pages call those behind N and C."""


def letters(facts: Facts, said: Said) -> bool:
    """Shapes that the page writes out, one of each rank."""
    shapes = [re.findall(r"\w+", shape) for shape in said.claim.of("shapes")]
    value = {len(shape): [int(x) if x.isdigit() else x for x in shape] for shape in shapes}
    known = {axis for shape in value.values() for axis in shape} & facts.parameters.keys()
    if known or len(value) < len(shapes) or not said.subjects or not facts.tensors(said.subjects):
        return False
    ranks = sorted(value)
    if not all(_ranks(facts, name) in ([], ranks) for name in said.subjects):
        return False
    return all(
        facts.set(name, "shape", value, said.line) and facts.set(name, "rank", ranks, said.line)
        for name in said.subjects
    )


def _ranks(facts: Facts, name: str) -> list[int]:
    key = facts.parameters[name].keys.get("rank")
    return cast(list[int], key.value) if key else []


def axis(facts: Facts, name: str, letter: str) -> str:
    """The letter of a shape that a page calls so; a shape without letters gets those that pages
    use: N and C in common, others for each tensor. Empty where it has none, or several.
    """
    keys, ranks = facts.parameters[name].keys, _ranks(facts, name)
    if "shape" not in keys and ranks and max(ranks) in SPATIAL and min(ranks) >= max(ranks) - 1:
        most, own = max(ranks), [f"{place}{name}" for place in SPATIAL[max(ranks)]]
        told = keys["format"].value if "format" in keys else []
        formats = {x for listed in per_product(told).values() for x in listed}
        first: list[int | str] = ["N", "C", *own]
        value: Letters = {rank: first[most - rank :] for rank in sorted(ranks)}
        if formats & {"NHWC", "NDHWC"}:
            last: list[int | str] = ["N", *own, "C"]
            value = {most: {x: last if x.endswith("C") else first for x in sorted(formats)}}
        if len(ranks) == len(value):
            keys["shape"] = Key(value, [])
    shape = axes_of(keys["shape"]) if "shape" in keys else []
    fit = {place for place in shape if isinstance(place, str) and place.startswith(letter)}
    return fit.pop() if len(fit) == 1 else ""


def _places(said: Said) -> list[str]:
    """The axes that a sentence names, in its order."""
    return re.findall("[NCDHWL]", said.claim.lists["axes"][0])


def same_axes(facts: Facts, said: Said) -> list[str]:
    """The rules that tensors agree in the axes of these letters; none where their shapes have
    others, or nothing in common.
    """
    names = facts.in_order((*said.subjects, *said.claim.of("names")))
    if len(names) < 2 or not facts.tensors(names):
        return []
    told = [{axis(facts, name, letter) for name in names} for letter in _places(said)]
    if any("" in letters or len(letters) > 1 for letters in told):
        return []
    later = [name for name in names if bound(facts, name)]
    for name in later:
        facts.set(name, "shape", facts.parameters[name].keys["shape"].value, said.line)
    return [f"{name}.shape" for name in later]


def axes_unlike(facts: Facts, said: Said) -> list[str]:
    """The rules about such axes that statements gave."""
    shaped = [p.name for p in facts.of_family("tensor") if "shape" in p.keys]
    return same_axes(facts, said.about(shaped))


def items(facts: Facts, said: Said) -> list[str]:
    """The rules that axes of a tensor are items of an array: those that the sentence names, or all
    in the order of its axes, which may depend on the format.
    """
    given = re.findall(r"\[(\d)\]", "".join(said.claim.of("items")))
    arrays = {item.partition("[")[0] for item in said.claim.of("items")}
    (array, *others) = arrays or said.claim.of("names") or (said.own,)
    (name, *more) = said.claim.of("of") or said.subjects
    places, order = _places(said), "NC" + SPATIAL.get(max(_ranks(facts, name), default=0), "")
    if more or others or not array or not facts.tensors([name]) or {*places} - {*order}:
        return []
    terms = {place: axis(facts, name, place) for place in places}
    several = given and len(given) != len(places)
    if facts.parameters[array].family != "array" or several or "" in terms.values():
        return []
    if said.claim.of("names"):
        told = {f"{term} == {array}" for term in terms.values()}
        known = [n for n, r in facts.rules.items() if r.require.partition("[")[0] in told]
        if known:
            return known
        given = [str(order.index(place)) for place in places]
    orders = said.claim.lists["axes"][0].split("或")
    first, rules = facts.of_family("tensor")[0].name, []
    for i, part in enumerate(orders):
        layout = said.claim.of("layout")
        sign = f"== '{layout[0]}'" if layout else ("!= 'NHWC'", "== 'NHWC'")[i]
        when = f"{first}.format {sign}" if layout or len(orders) > 1 else ""
        for index, place in enumerate(re.findall("[NCDHWL]", part)):
            item = int(given[index]) if given else index
            require, about = f"{terms[place]} == {array}[{item}]", (name, array)
            rules.append(facts.relate(require, said.line, about, f"axis_{item}", when * (item > 0)))
    return rules


def not_empty(facts: Facts, said: Said) -> bool:
    """Axes that are never 0."""
    terms = [axis(facts, name, place) for name in said.subjects for place in _places(said)]
    for term in terms if all(terms) else ():
        facts.relate(f"{term} >= 1", said.line, (said.subjects[0],), "least")
    return bool(terms) and all(terms)


def padded(facts: Facts, said: Said) -> list[str]:
    """The rules of a gradient that has the shape to which a pad enlarges the other input."""
    inputs = [p.name for p in facts.parameters.values() if p.kind == "tensor"]
    pads = [p.name for p in facts.parameters.values() if p.kind == "int_array"]
    others = [name for name in inputs if name not in said.subjects]
    if len(others) != 1 or len(said.subjects) != 1 or len(pads) != 1:
        return []
    tensors = (*said.subjects, *others)
    sides = {"1": "L", "2": "WH", "3": "WHD"}[said.claim.lists["dimensions"][0]]
    pairs = [[axis(facts, name, side) for name in tensors] for side in sides]
    if not all(map(all, pairs)):
        return []
    told = [
        f"{large} == {small} + {pads[0]}[{2 * i}] + {pads[0]}[{2 * i + 1}]"
        for i, (large, small) in enumerate(pairs)
    ]
    rules = [facts.relate(rule, said.line, tensors, f"padded_{i}") for i, rule in enumerate(told)]
    shared = said._replace(claim=Claim("same_axes", {"axes": ("NC",)}))
    return rules + same_axes(facts, shared.about(tensors))
