"""Rules without a code that say nothing more where the same fault breaks a key with one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, product

from opgen.calls.factorize import by_key
from opgen.spec.language.term import Reference
from opgen.spec.rules import Rule
from opgen.spec.spec import SpecScope

OF_TENSORS = {"dtype": ("dtype",), "format": ("format",), "axis": ("format", "rank")}
"""The keys that limit what is read of a tensor; of its rank and shape, the rank."""
OF_NUMBERS = ("min", "max", "range", "enum", "length")
"""The keys that limit an attribute."""
SHARED = {"dtype": ("dtype",), "format": ("format",), "rank": ("rank", "shape")}
"""What equals that of another tensor where a key of both limits the same."""
SEEN = SHARED | {"empty": ("shape", "numel")}
"""What a relation reads that sees what a key limits, too."""


def silenced(rules: Mapping[str, Rule], scope: SpecScope) -> dict[str, Rule]:
    """The same rules, of which those without a code know those with one that silence them: see
    :attr:`Rule.first`.
    """
    first: list[tuple[Rule, Rule | None]]
    limits = by_key(
        (limited, rule) for rule in rules.values() if rule.code for limited in _limited(rule)
    )
    relations = [rule for rule in rules.values() if not rule.key]
    known = dict(rules)
    for rule in [rule for rule in rules.values() if rule.code is None]:
        own = {(name, what) for name, what in rule.compared if what in SHARED}
        own |= {(name, seen) for name, what in _limited(rule) for seen in SEEN.get(str(what), ())}
        read = chain(own, chain.from_iterable(_reads(ref, scope) for ref in rule.compared))
        first = [(limit, None) for thing in read for limit in limits.get(thing, ())]
        first += [
            (other, None)
            for other in relations
            if other.code and (own & other.compared or rule.compared == other.compared)
        ]
        for thing, equality in _equal(rule, relations):
            first += [(limit, equality) for limit in limits.get(thing, ())]
        known[rule.id] = replace(rule, first=tuple(first))
    return known


def _limited(rule: Rule) -> Iterable[Reference]:
    """What alone a rule limits: the parameter and its key, or the one thing that a relation
    compares with constants.
    """
    if rule.key:
        return [(str(rule.parameter), rule.key)]
    return rule.compared if len(rule.compared) == 1 else ()


def _reads(reference: Reference, scope: SpecScope) -> Iterator[Reference]:
    """A reference, and the keys that limit what it reads."""
    yield reference
    name, what = reference
    if name in scope.occurrences:
        name, what = scope.occurrences[name][0].parameter, "axis"
    if name in scope.parameters:
        tensor = scope.parameters[name].is_tensor
        keys = OF_TENSORS.get(str(what), ("rank",)) if tensor else OF_NUMBERS
        yield from ((name, key) for key in keys)


def _equal(rule: Rule, relations: list[Rule]) -> Iterator[tuple[Reference, Rule]]:
    """The same key of other tensors, each with the relation by which what the rule limits equals
    theirs, or what follows from theirs.
    """
    key = str(rule.key)
    for what, relation in product(SHARED.get(key, ()), relations):
        own = (str(rule.parameter), what)
        for guard in relation.guards:
            sides = [guard.require.left, *guard.require.right]
            if guard.require.operator == "==" and any(side.text == ".".join(own) for side in sides):
                others = {*guard.require.refs} - {own}
                yield from (((name, key), relation) for name, read in others if read == what)
