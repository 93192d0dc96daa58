"""Rules without a code that say nothing more where the same fault breaks a key with one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, product, repeat

from opgen.spec.language.term import Reference
from opgen.spec.rules import Rule
from opgen.spec.spec import SpecScope

Key = tuple[str, str]
"""A parameter, and a key of it."""

OF_TENSORS = {"dtype": ("dtype",), "format": ("format",), "axis": ("format", "rank")}
"""The keys that limit what is read of a tensor; of its rank and shape, the rank."""
OF_NUMBERS = ("min", "max", "range", "enum", "length")
"""The keys that limit an attribute."""
SHARED = {"dtype": ("dtype",), "format": ("format",), "rank": ("rank", "shape")}
"""What equals that of another tensor where a key of both limits the same."""


def silenced(rules: Mapping[str, Rule], scope: SpecScope) -> dict[str, Rule]:
    """The same rules, of which those without a code know the keys with one that silence them: see
    :attr:`Rule.first`.
    """
    keys = {
        (str(rule.parameter), rule.key): rule for rule in rules.values() if rule.code and rule.key
    }
    relations = [rule for rule in rules.values() if not rule.key]
    known = dict(rules)
    for rule in [rule for rule in rules.values() if rule.code is None]:
        limited = chain.from_iterable(_limits(ref, scope) for ref in rule.compared)
        related = _equal(rule, relations) if rule.key else zip(limited, repeat(None), strict=False)
        first = tuple([(keys[key], equality) for key, equality in related if key in keys])
        known[rule.id] = replace(rule, first=first)
    return known


def _limits(reference: Reference, scope: SpecScope) -> Iterator[Key]:
    """The keys that limit what a reference reads."""
    name, what = reference
    if name in scope.occurrences:
        name, what = scope.occurrences[name][0].parameter, "axis"
    if name in scope.parameters:
        tensor = scope.parameters[name].is_tensor
        keys = OF_TENSORS.get(str(what), ("rank",)) if tensor else OF_NUMBERS
        yield from ((name, key) for key in keys)


def _equal(rule: Rule, relations: list[Rule]) -> Iterator[tuple[Key, Rule]]:
    """The same key of other tensors, each with the relation that wants both to be equal there."""
    key = str(rule.key)
    for what, relation in product(SHARED.get(key, ()), relations):
        own = f"{rule.parameter}.{what}"
        for guard in relation.guards:
            sides = [term.text for term in (guard.require.left, *guard.require.right)]
            if guard.when is None and guard.require.operator == "==" and own in sides:
                (other,) = {*sides} - {own}
                yield (other.removesuffix(f".{what}"), key), relation
