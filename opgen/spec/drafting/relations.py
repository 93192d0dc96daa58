"""Rules that a pattern writes by itself, with parameters and numbers of the sentence."""

from __future__ import annotations

import re
from itertools import product
from typing import cast

from opgen.spec.drafting import axes
from opgen.spec.drafting.conditions import spatial_slots
from opgen.spec.drafting.facts import Facts
from opgen.spec.drafting.placed_claim import PlacedClaim
from opgen.spec.drafting.rule_ids import bound

LEAST = re.compile(r"(?:lowest\(\w+\)|\w+) >= (\d+)")
"""A least value of an array, or of one of its items."""


def relations(facts: Facts, said: PlacedClaim) -> list[str]:
    """The rules that a pattern writes by itself, for each of its subjects and other names; none
    where a factor is no number, an axis has no letter, or no other input or array is the only one.
    """
    factors, told = said.claim.of("factors"), []
    inputs = [n for n, p in facts.parameters.items() if p.kind == "tensor"]
    others = {n for n in inputs if n not in said.subjects}
    arrays = [n for n, p in facts.parameters.items() if p.kind == "int_array"]
    outputs = [n for n, p in facts.parameters.items() if p.is_written]
    shown = {"other": others, "array": arrays, "first": inputs[:1], "output": outputs}
    written = {key: "".join(said.claim.of(key)) for key in ("number", "number2", "dtypes")}
    written["factors"] = " * ".join(factors)
    extents = (*said.claim.of("extents"), *said.claim.of("items"))
    alone = {key: axes.Lettered(facts, *of) if len(of) == 1 else "?" for key, of in shown.items()}
    promoting = facts.in_order(set().union(*facts.promoted))
    alone["promoted"] = "promote(" + (", ".join(f"{n}.dtype" for n in promoting) or "?") + ")"
    for subject, name in product(said.subjects, said.claim.of("names") or ("",)):
        pair = {"subject": axes.Lettered(facts, subject), "name": axes.Lettered(facts, name)}
        about = tuple(dict.fromkeys((subject, *filter(None, (name,)), *factors)))
        for extent, template in product(extents or ("",), said.claim.of("rules")):
            text = template.replace("{extent}", extent)
            for key, number in written.items():
                text = text.replace(f"{{{key}}}", number)
            told.append((text.format(**pair, **alone), about))
    slots = {slot for name in said.subjects for slot in spatial_slots(facts, name)}
    numbers = {*extents} <= axes.letters_of(facts) | slots and all(
        facts.parameters[name].family == "scalar" for name in factors
    )
    return [
        rule
        for text, about in told if numbers and "?" not in "".join(text for text, _ in told)
        for rule in _related(facts, said, text, about)
    ]  # fmt: skip


def padded(facts: Facts, said: PlacedClaim) -> list[str]:
    """The same of the gradient of a pad, which has N and C of the other input."""
    inputs = (name for name, parameter in facts.parameters.items() if parameter.kind == "tensor")
    rules = relations(facts, said)
    return rules and [*rules, *axes.same_axes(facts, said.about(inputs))]


def _related(facts: Facts, said: PlacedClaim, text: str, about: tuple[str, ...]) -> list[str]:
    """A rule, or under a code those that statements demand, if only under a condition."""
    require, _, when = text.partition(" when ")
    implied, least = LEAST.fullmatch(require), facts.parameters[about[0]].keys.get("min")
    if implied and least and int(implied[1]) <= cast(int, least.value):
        return [f"{about[0]}.min"]
    left, _, right = require.partition(" == ")
    if left == right:  # their letters say so
        return [f"{name}.shape" for name in about if bound(facts, name)]
    known = [name for name, rule in facts.rules.items() if rule.require == require]
    held = " and ".join(filter(None, (said.when, when)))
    if known and not held and not said.own:
        return known
    attributes = {"shape": "axes", "numel": "numel", f"{about[0]}.rank": "axes", ".dtype": "types"}
    attribute = next((a for word, a in attributes.items() if word in require), "relation")
    if said.claim.of("extents") and said.line in facts.shape_lines:
        attribute = "axes"
    return [facts.relate(require, said.line, about, attribute, held)]
