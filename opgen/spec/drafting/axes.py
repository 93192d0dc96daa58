"""What a page says of axes: the letters that it writes, and axes that it names by letter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import cast

from opgen.spec.drafting.facts import Facts, Key, Letters, axes_of, bound, per_product
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
