"""What a page demands: each family of patterns makes facts, or none where it is not sure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations

from opgen.spec.drafting import cells, dtype_lists, values
from opgen.spec.drafting.facts import Facts
from opgen.spec.drafting.said import Said


def state(facts: Facts, said: Said) -> bool:
    """Whether a statement became facts."""
    if said.products and said.claim.says not in OF_PRODUCTS:
        return False
    return FAMILIES[said.claim.says](facts, said)


def _same(facts: Facts, said: Said) -> bool:
    names = said.claim.of("names")
    if not said.subjects or not facts.tensors((*said.subjects, *names)):
        return False
    for subject in said.subjects:
        for name in names:
            for attribute in said.claim.of("what"):
                facts.same(attribute, subject, name, said.line, said.when)
    return True


def _alike(facts: Facts, said: Said) -> bool:
    first, *others = facts.in_order(said.subjects)
    if not others or not facts.tensors(said.subjects):
        return False
    for attribute in said.claim.of("what"):
        for other in others:
            facts.same(attribute, other, first, said.line, said.when)
    return True


def _key(key: str, value: object) -> Callable[[Facts, Said], bool]:
    """A key of the tensors that a sentence speaks of."""

    def of_tensors(facts: Facts, said: Said) -> bool:
        return (
            bool(said.subjects)
            and facts.tensors(said.subjects)
            and all(facts.set(name, key, value, said.line) for name in said.subjects)
        )

    return of_tensors


def _formats(facts: Facts, said: Said) -> bool:
    return _key("format", list(said.claim.of("formats")))(facts, said)


def _rank(facts: Facts, said: Said) -> bool:
    listed = cells.ranks("、".join(said.claim.of("ranks")))
    return listed is not None and _key("rank", listed)(facts, said)


def _rank_most(facts: Facts, said: Said) -> bool:
    (most,) = said.claim.numbers("number")
    known = [facts.parameters[name].keys.get("rank") for name in said.subjects]
    listed = [key.value for key in known if key and isinstance(key.value, list)]
    return bool(listed) and all(max(ranks) == most for ranks in listed)


def _optional(facts: Facts, said: Said) -> bool:
    return all(facts.set(name, "null", True, said.line) for name in said.subjects)


def numel(facts: Facts, said: Said) -> list[str]:
    """The rules that tensors have as many elements as a product of scalars, or as a tensor."""
    factors = said.claim.lists["factors"]
    scalar = all(facts.parameters[name].family == "scalar" for name in factors)
    if not said.subjects or not facts.tensors(said.subjects) or not scalar:
        return []
    require = f"numel == {' * '.join(factors)}"
    return [
        facts.relate(f"{name}.{require}", said.line, (name, *factors), "numel")
        for name in said.subjects
    ]


def broadcastable(facts: Facts, line: int, names: Iterable[str]) -> list[str]:
    """The rules that each two of these inputs have shapes that broadcast; none where one is written
    or no tensor.
    """
    inputs = facts.in_order(names)
    if len(inputs) < 2 or any(facts.parameters[name].kind != "tensor" for name in inputs):
        return []
    return [
        facts.relate(f"broadcastable({one}.shape, {other}.shape)", line, (other, one), "broadcast")
        for one, other in combinations(inputs, 2)
    ]


def _same_shapes(facts: Facts, names: set[str]) -> bool:
    """Whether sentences gave some of these tensors one shape, which another then disputes."""
    told = {n for n, rule in facts.sharing("shape", names).items() if not rule.when}
    shared = {name for rule in told for name in facts.rules[rule].about}
    touched = {n for n, r in facts.rules.items() if r.attribute == "shape" and shared & {*r.about}}
    facts.disputed |= touched
    return bool(told)


def _broadcast(facts: Facts, said: Said) -> bool:
    (own, *others), names = said.subjects or ("",), said.claim.of("names")
    if _same_shapes(facts, {own, *others, *names}):
        return False
    if names and not others:
        return all(broadcastable(facts, said.line, (own, name)) for name in names)
    return not names and bool(broadcastable(facts, said.line, said.subjects))


FAMILIES: Mapping[str, Callable[[Facts, Said], bool]] = {
    "same": _same,
    "alike": _alike,
    "dtypes": dtype_lists.dtypes,
    "dtypes_of": dtype_lists.dtypes_of,
    "no_dtypes": dtype_lists.no_dtypes,
    "no_formats": dtype_lists.no_formats,
    "formats": _formats,
    "strided": _key("strided", True),
    "rank": _rank,
    "rank_most": _rank_most,
    "empty": _key("empty", True),
    "no_empty": _key("empty", False),
    "optional": _optional,
    "length": values.length,
    "length_and_above": values.length_and_above,
    "slots": values.slots,
    "above": values.above,
    "items_above": lambda facts, said: bool(values.items_above(facts, said)),
    "least": values.least,
    "natural": values.least,
    "below": values.bound("max", "<", -1),
    "most": values.bound("max", "<=", 0),
    "half": values.half,
    "numel": lambda facts, said: bool(numel(facts, said)),
    "range": values.limits,
    "enum": values.enum,
    "broadcast": _broadcast,
    "below_extent": values.below_extent,
}
"""Family of statements -> what it makes of one."""
OF_PRODUCTS = {"same", "alike", "dtypes", "no_dtypes", "no_formats"}
"""Families of facts that may hold for some products alone."""
