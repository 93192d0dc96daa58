"""What follows for tensors that share dtypes, formats, ranks or shapes with others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from opgen.spec.drafting.facts import DraftedRule, Facts, Key, reached
from opgen.spec.drafting.rule_ids import axes_of, bound


def copy(facts: Facts) -> None:
    """Tensors that share dtypes, formats or ranks with one that has a list have it too."""
    for name, parameter in facts.parameters.items():
        for rule, other in _shared(facts, name):
            known = facts.parameters[other].keys.get(rule.attribute)
            if known and rule.attribute not in parameter.keys:
                parameter.keys[rule.attribute] = Key(known.value, list(rule.at))


def copied_places(facts: Facts) -> None:
    """A list that stands in no cell of its own is answered as the rule that gives it."""
    for name, parameter in facts.parameters.items():
        for rule, _ in _shared(facts, name):
            key = parameter.keys.get(rule.attribute)
            ids = [known for known, body in facts.rules.items() if body is rule]
            if key and key.at[0] in rule.at and ids[0] in facts.places:
                facts.places.setdefault(f"{name}.{rule.attribute}", facts.places[ids[0]])


def _shared(facts: Facts, name: str) -> Iterator[tuple[DraftedRule, str]]:
    """The rules by which a tensor shares a list with another, without condition."""
    for rule in facts.rules.values():
        ends = (rule.about[0], rule.about[-1])
        if name in ends and rule.attribute in ("dtype", "format", "rank") and not rule.when:
            yield rule, rule.about[0] if rule.about[-1] == name else rule.about[-1]


def contradictions(facts: Facts) -> None:
    """Tensors of one shape of which one may be empty and another not, or whose ranks have nothing
    in common: a person decides.
    """
    for rule, body in facts.rules.items():
        lists = [facts.parameters[n].keys.get("rank") for n in body.about]
        ranks = [set(key.value) for key in lists if key and isinstance(key.value, list)]
        joined = body.attribute in ("rank", "shape") and not body.when and len(ranks) == 2
        if joined and not set.intersection(*ranks):
            facts.disputed |= {rule, *(f"{name}.rank" for name in body.about)}
            facts.todo(body.at[0], "have the same ranks, and lists with none in common", body.about)
    pairs = [
        frozenset(r.about) for r in facts.sharing("shape", facts.parameters).values() if not r.when
    ]
    for name, parameter in facts.parameters.items():
        empty = parameter.keys.get("empty")
        others = [facts.parameters[other] for other in facts.in_order(reached(name, pairs))]
        keys = {other.name: other.keys.get("empty", Key(None, [])) for other in others}
        told = [other for other, key in keys.items() if key.value is True]
        if empty and empty.value is False and told:
            facts.disputed.add(f"{name}.empty")
            facts.todo(empty.at[0], f"{name} may not be empty, and has a shape that may", told)


def letters_in_doubt(facts: Facts) -> None:
    """Tensors of one shape to whose axes the page gives different letters, and axes that it calls
    alike without saying that they are: a person decides.
    """
    for rule, body in facts.sharing("shape", facts.parameters).items():
        told = [facts.parameters[n].keys.get("shape", Key(None, [])).value for n in body.about]
        first, second = (value if isinstance(value, dict) else {} for value in told)
        differ = any(first[rank] != second[rank] for rank in first.keys() & second.keys())
        if not body.when and differ:
            own = {str(axis) for axis in axes_of(facts.parameters[body.about[0]].keys["shape"])}
            own -= {"N", "C"}
            about = {n for n, r in facts.rules.items() if own & {*re.findall(r"\w+", r.require)}}
            facts.disputed |= {rule, *about}
            facts.todo(body.at[0], "have one shape, and axes that differ", body.about)
    for name, parameter in facts.parameters.items():
        if "shape" in parameter.keys and bound(facts, name) and not parameter.keys["shape"].at:
            facts.todo(parameter.line, f"axes of {name} called as those of an earlier tensor")


def dtypes_in_doubt(facts: Facts) -> None:
    """Tensors whose dtypes need only promote, in one place of the page, and agree in another: a
    person decides.
    """
    for rule, body in facts.sharing("dtype", facts.parameters).items():
        if body.about[1] in reached(body.about[0], facts.promoted):
            about = {n for n, r in facts.rules.items() if "promote(" in r.when}
            facts.disputed |= {rule, *about}
            facts.todo(body.at[0], "have one dtype, and dtypes that need only promote", body.about)
