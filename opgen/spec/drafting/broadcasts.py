"""Shapes that broadcast: the rules that a sentence makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from opgen.spec.drafting.facts import Facts, reached
from opgen.spec.drafting.placed_claim import PlacedClaim


def broadcastable(facts: Facts, line: int, names: Iterable[str]) -> list[str]:
    """The rules that each two of these inputs have shapes that broadcast, of those with one shape
    the first; none where one is no tensor.
    """
    told = facts.in_order(names)
    outputs = [name for name in told if facts.parameters[name].is_written]
    inputs = [name for name in told if name not in outputs]
    if len(inputs) < 2 or any(facts.parameters[name].kind != "tensor" for name in inputs):
        return []
    if outputs:
        facts.todo(line, "a broadcast that is written", outputs)
    shapes = [frozenset(r.about) for r in facts.sharing("shape", told).values() if not r.when]
    alike = {name: min(map(told.index, reached(name, shapes))) for name in told}
    return [
        facts.relate(f"broadcastable({one}.shape, {other}.shape)", line, (other, one), "broadcast")
        for one, other in combinations(inputs, 2)
        if alike[one] == told.index(one) != alike[other] == told.index(other)
    ]


def _same_shapes(facts: Facts, names: set[str]) -> bool:
    """Whether sentences gave some of these tensors one shape, which another then disputes."""
    told = {n for n, rule in facts.sharing("shape", names).items() if not rule.when}
    shared = {name for rule in told for name in facts.rules[rule].about}
    touched = {n for n, r in facts.rules.items() if r.attribute == "shape" and shared & {*r.about}}
    facts.disputed |= touched
    return bool(told)


def broadcast(facts: Facts, said: PlacedClaim) -> bool:
    """Whether a sentence gave rules: of its subjects, or of the one and each other name."""
    (own, *others), names = said.subjects or ("",), said.claim.of("names")
    if _same_shapes(facts, {own, *others, *names}):
        return False
    if names and not others:
        return all(broadcastable(facts, said.line, (own, name)) for name in names)
    return not names and bool(broadcastable(facts, said.line, said.subjects))


def broadcast_result(facts: Facts, said: PlacedClaim) -> list[str]:
    """The rule that an output has the shape to which two or three inputs broadcast."""
    told = facts.in_order((*said.subjects, *said.claim.of("names")))
    outputs = {name for name, p in facts.parameters.items() if p.is_written}
    names = [name for name in told if name not in outputs]
    (written, *more) = {*told} & outputs or outputs
    if more or len(names) not in (2, 3):
        return []
    *first, last = (f"{name}.shape" for name in names)
    shapes = f"{first[0]}, {last if len(first) == 1 else f'broadcast({first[1]}, {last})'}"
    require = f"{written}.shape == broadcast({shapes})"
    return [facts.relate(require, said.line, (written, *names), "shape")]
