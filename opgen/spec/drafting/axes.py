"""What a page says of axes: the letters that it writes, and axes that it names by letter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import cast

from opgen.spec.drafting.facts import Facts, Key, Letters, axes_of, bound, per_product
from opgen.spec.drafting.said import Said

SPATIAL = {3: "L", 4: "HW", 5: "DHW"}
"""Most axes of a tensor -> what pages call those behind N and C."""


def letters(facts: Facts, said: Said) -> bool:
    """Shapes that the page writes out, one of each rank."""
    shapes = [shape.strip("()[]").rstrip(",").split(",") for shape in said.claim.of("shapes")]
    named = {
        axis for shape in shapes for text in shape for axis in re.findall(r"[A-Za-z_]\w*", text)
    }
    known = named & facts.parameters.keys() or "" in (text for shape in shapes for text in shape)
    if known or len({*map(len, shapes)}) < len(shapes) or not facts.tensors(said.subjects):
        return False
    made: dict[str, str] = {}
    (own,) = said.subjects if len(said.subjects) == 1 else ("",)

    def place(text: str) -> int | str:
        if text.isdigit() or text.isidentifier() or not own:
            return int(text) if text.isdigit() else text
        factors = re.findall(r"\d+|[A-Za-z_]\w*", text)
        return made.setdefault(" * ".join(factors), f"{factors[-1]}{own}")

    value = {len(shape): [*map(place, shape)] for shape in shapes}
    most = value[max(value)]
    for rank, shape in value.items():  # one letter for an axis that a page calls otherwise there
        value[rank] = [axis if axis in most else most[i - rank] for i, axis in enumerate(shape)]
    bound_axes = {*letters_of(facts), *chain(*value.values())}
    factors = {axis for product in made for axis in re.findall(r"[A-Za-z_]\w*", product)}
    fit = all(str(axis).isdigit() or str(axis).isidentifier() for axis in bound_axes)
    if not said.subjects or not factors <= bound_axes or not fit:
        return False
    ranks = sorted(value)
    if not all(_ranks(facts, name) in ([], ranks) for name in said.subjects):
        return False
    for product, letter in made.items():
        facts.relate(f"{letter} == {product}", said.line, (own,), "axes")
    return all(
        facts.set(name, "shape", value, said.line) and facts.set(name, "rank", ranks, said.line)
        for name in said.subjects
    )


def letters_of(facts: Facts) -> set[int | str]:
    """The letters and extents that tensors have so far."""
    shaped = (p.keys["shape"] for p in facts.parameters.values() if "shape" in p.keys)
    return {*chain(*map(axes_of, shaped))}


def _ranks(facts: Facts, name: str) -> list[int]:
    key = facts.parameters[name].keys.get("rank")
    return cast(list[int], key.value) if key else []


@dataclass(frozen=True)
class Lettered:
    """A parameter in the rules that patterns write: its name, and as attributes its axes."""

    facts: Facts
    name: str

    def __str__(self) -> str:
        return self.name

    def __getattr__(self, letter: str) -> str:
        return axis(self.facts, self.name, letter) or "?"


def axis(facts: Facts, name: str, letter: str) -> str:
    """The letter of a shape that a page calls so; a shape without letters gets those that pages
    use: N and C in common, others for each tensor. Empty where it has none, or several.
    """
    keys, ranks = facts.parameters[name].keys, _ranks(facts, name)
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


def same_axes(facts: Facts, said: Said) -> list[str]:
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


def axes_unlike(facts: Facts, said: Said) -> list[str]:
    """The rules about such axes that statements gave."""
    return same_axes(
        facts, said.about([p.name for p in facts.of_family("tensor") if "shape" in p.keys])
    )
