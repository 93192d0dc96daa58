"""What a page says of axes: the letters that it writes, and axes that it names by letter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import cast

from opgen.calls.kinds import KINDS
from opgen.spec.drafting import chosen
from opgen.spec.drafting.chosen import FACTOR
from opgen.spec.drafting.conditions import spatial_slots
from opgen.spec.drafting.facts import Facts, Key, Letters, per_product
from opgen.spec.drafting.placed_claim import PlacedClaim
from opgen.spec.drafting.rule_ids import axes_of, bound
from opgen.spec.drafting.values import last_slots

SPATIAL = {3: "L", 4: "HW", 5: "DHW"}
"""Most axes of a tensor -> what pages call those behind N and C."""


def letters(facts: Facts, said: PlacedClaim) -> bool:
    """Shapes that the page writes out, one of each rank; an axis may be a number that it names, or
    a product or quotient of such. Several of one rank say the rank alone, unless a flag says which.
    """
    if said.held:
        return _under(facts, said)
    shapes = [shape[1:-1].rstrip(",").split(",") for shape in said.claim.of("shapes")]
    blank = "" in (text for shape in shapes for text in shape)
    ranks = sorted({*map(len, shapes)})
    known = all(
        facts.parameters[name].family in ("tensor", "list") and _ranks(facts, name) in ([], ranks)
        for name in said.subjects
    )
    if blank or not known or said.products:
        return False
    for name in said.subjects:
        facts.set(name, "rank", ranks, said.line)
    shapes = chosen.merged(facts, shapes)
    if len(ranks) < len(shapes):
        return False
    made: dict[str, str] = {}
    (own,) = said.subjects if len(said.subjects) == 1 else ("",)

    def place(text: str) -> int | str:
        plain = text.isidentifier() and text not in {*facts.parameters, *facts.chosen}
        if text.isdigit() or plain or not own:
            return int(text) if text.isdigit() else text
        known = next(
            (k for k in facts.made if sorted(k.split("*")) == sorted(text.split("*"))), text
        )
        name = re.sub(r"^(?:\w+\?|\d+)|\W", "", known.replace(":", "Or")) + own
        return made.setdefault(known, facts.made.get(known, name))

    value = {len(shape): [*map(place, shape)] for shape in shapes}
    most = value[max(value)]
    for rank, shape in value.items():  # one letter for an axis that a page calls otherwise there
        kept = {*most, *made.values()}
        value[rank] = [axis if axis in kept else most[i - rank] for i, axis in enumerate(shape)]
    bound_axes = {*letters_of(facts), *chain(*value.values())}
    terms = " ".join(term for text in made for term in chosen.cases(facts, text).values())
    factors = {axis for axis in re.findall(FACTOR, terms) if not axis.isdigit()}
    fit = all(str(axis).isdigit() or str(axis).isidentifier() for axis in bound_axes)
    if not said.subjects or not factors <= bound_axes | numbers_of(facts) or not fit:
        return False
    facts.made |= made
    for text, letter in made.items():
        whole, _, part = text.partition("/")
        for when, product in chosen.cases(facts, part or text).items():
            require = f"{whole} == {letter} * {product}" if part else f"{letter} == {product}"
            facts.relate(require, said.line, (own,), "axes", when)
    return all(facts.set(name, "shape", value, said.line) for name in said.subjects)


def _under(facts: Facts, said: PlacedClaim) -> bool:
    """Shapes under a condition, which are all that there are where the page has its opposite too;
    where their ranks differ, each is a rule.
    """
    cases = facts.chosen.setdefault(said.own, {})
    cases[said.held] = " ".join(said.claim.of("shapes"))
    shapes = tuple(shape for told in cases.values() for shape in told.split())
    every = said.claim._replace(lists={**said.claim.lists, "shapes": shapes})
    ranks = {shape.count(",") + 1 for shape in said.claim.of("shapes")}
    opposite = {f"not {when}" for when in cases} & {*cases}
    if not opposite or not letters(facts, said._replace(held="", claim=every)):
        return False
    for rank in ranks if len({shape.count(",") for shape in shapes}) > len(ranks) == 1 else ():
        facts.relate(f"{said.own}.rank == {rank}", said.line, (said.own,), "rank", said.held)
    return True


def counted(facts: Facts, said: PlacedClaim) -> bool:
    """How many tensors a list has: a product of numbers that the page names."""
    cases = chosen.cases(facts, said.claim.of("count")[0])
    factors = {f for f in re.findall(FACTOR, " ".join(cases.values())) if not f.isdigit()}
    return (
        bool(said.own)
        and factors <= numbers_of(facts)
        and all(
            facts.relate(f"len({said.own}) == {term}", said.line, (said.own,), "count", when)
            for when, term in cases.items()
        )
    )


def extents(facts: Facts, said: PlacedClaim) -> bool:
    """The axes of tensors that the items of an array are, by their letters."""
    (name, *more), (shape, *others) = said.subjects, said.claim.of("shapes")
    named = shape[1:-1].split(",")
    sure = not more and not others and facts.parameters[name].kind == "int_array"
    for item, letter in enumerate(named if sure and {*named} <= letters_of(facts) else ()):
        facts.relate(f"{letter} == {name}[{item}]", said.line, (name,), "axes")
    return sure and {*named} <= letters_of(facts)


def apart(facts: Facts) -> None:
    """An item that has the name of an axis is as large: a name stands for one of the two."""
    shaped = [(n, p.keys["shape"]) for n, p in facts.parameters.items() if "shape" in p.keys]
    known = {axis: owner for owner, shape in reversed(shaped) for axis in axes_of(shape)}
    for name in [n for n, p in facts.parameters.items() if "items" in p.keys]:
        items = facts.parameters[name].keys["items"]
        named = cast(dict[int, list[str]], items.value).values()
        shared = [(i, n) for slots in named for i, n in enumerate(slots) if str(n) in known]
        if shared:
            del facts.parameters[name].keys["items"]
        for item, letter in shared:
            about = (known[letter], name)
            facts.relate(f"{letter} == {name}[{item}]", items.at[0], about, "axes")


def letters_of(facts: Facts) -> set[int | str]:
    """The letters and extents that tensors have so far."""
    shaped = (p.keys["shape"] for p in facts.parameters.values() if "shape" in p.keys)
    return {*chain(*map(axes_of, shaped))}


def numbers_of(facts: Facts) -> set[int | str]:
    """What pages call whole numbers: scalars, and items of arrays by name or by place."""
    whole = [p for p in facts.parameters.values() if KINDS[p.kind].element.term == "int"]
    told: set[int | str] = {p.name for p in whole if p.family == "scalar"}
    for array in (p for p in whole if p.family == "array" and "length" in p.keys):
        lengths = [n for n in cast(list[object], array.keys["length"].value) if isinstance(n, int)]
        told |= {*last_slots(facts, array.name)}
        told |= {f"{array.name}[{i}]" for i in range(max(lengths, default=0))}
    return told


def _ranks(facts: Facts, name: str) -> list[int]:
    key = facts.parameters[name].keys.get("rank")
    return cast(list[int], key.value) if key else []


@dataclass(frozen=True)
class Lettered:
    """A parameter in the rules that patterns write: its name, and as attributes its axes by letter
    or number, ``line`` the shape of a tensor of one axis, and ``value`` what is at most another.
    """

    facts: Facts
    name: str

    def __str__(self) -> str:
        return self.name

    def __getattr__(self, letter: str) -> str:
        parameter, ranks = self.facts.parameters[self.name], _ranks(self.facts, self.name)
        enum = parameter.keys["enum"].value if "enum" in parameter.keys else None
        if isinstance(enum, dict) and letter.isdigit():
            return str(enum.get(int(letter), "?"))
        if letter == "value":
            wrap = {"tensor": "values({})", "array": "highest({})"}.get(parameter.family, "{}")
            return wrap.format(self.name)
        if letter == "line":
            return f"{self.name}.shape" if ranks == [1] else "?"
        return axis(self.facts, self.name, letter) or "?"


def axis(facts: Facts, name: str, letter: str) -> str:
    """The letter of a shape that a page calls so; a shape without letters gets those that pages
    use: N and C in common, others for each tensor. Empty where it has none, or several.
    """
    keys, ranks = facts.parameters[name].keys, _ranks(facts, name)
    if letter.lstrip("-").isdigit():
        written = axes_of(keys["shape"]) if "shape" in keys else []
        place = int(letter) if letter[0] == "-" else int(letter) - 1 - (ranks or [0])[0]
        if not (ranks and -ranks[0] <= place < 0) or (letter[0] != "-" and len(ranks) > 1):
            return ""
        return str(written[place]) if written else f"{name}.shape[{place}]"
    if facts.parameters[name].family == "array" and f"{name}{letter}" in spatial_slots(facts, name):
        return f"{name}{letter}"
    if facts.parameters[name].family == "array":
        pairs = (r.require.partition(" == ") for r in facts.rules.values() if r.about[0] == name)
        items = {item for own, _, item in pairs if own.startswith(letter) and item[-1:] == "]"}
        return items.pop() if len(items) == 1 else ""
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


def same_axes(facts: Facts, said: PlacedClaim) -> list[str]:
    """The rules that tensors agree in the axes of these letters, or in N and C; none where their
    shapes have others, or nothing in common.
    """
    names = facts.in_order((*said.subjects, *said.claim.of("names")))
    letters = "".join(said.claim.of("axes")) or "NC"
    if len(names) < 2 or not facts.tensors(names):
        return []
    told = [
        {axis(facts, name, letter) for name in names} for letter in re.findall("[NCDHWL]", letters)
    ]
    if any("" in places or len(places) > 1 for places in told):
        return []
    later = [name for name in names if bound(facts, name)]
    for name in later:
        facts.set(name, "shape", facts.parameters[name].keys["shape"].value, said.line)
    return [f"{name}.shape" for name in later]


def axes_unlike(facts: Facts, said: PlacedClaim) -> list[str]:
    """The rules about such axes that statements gave."""
    return same_axes(
        facts, said.about([p.name for p in facts.of_family("tensor") if "shape" in p.keys])
    )
