"""What a page demands: each family of patterns makes facts, or none where it is not sure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import cast

from opgen.spec.drafting import axes, cells, chosen, dtype_lists, masks, values
from opgen.spec.drafting.broadcasts import broadcast, broadcast_result
from opgen.spec.drafting.dtype_pairs import paired
from opgen.spec.drafting.facts import Facts, per_product
from opgen.spec.drafting.placed_claim import PlacedClaim
from opgen.spec.drafting.relations import padded, relations

FLOATS = {"FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE"}
"""Dtypes of which any two promote to one that every library computes."""


def state(facts: Facts, said: PlacedClaim) -> bool:
    """Whether a statement became facts."""
    families = said.claim.says.split(" and ")
    allowed = CONDITIONAL if said.held else OF_PRODUCTS | CONDITIONAL
    fit = not said.when or {*families} <= allowed
    return fit and all(FAMILIES[family](facts, said) for family in families)


def _same(facts: Facts, said: PlacedClaim) -> bool:
    names = said.claim.of("names")
    listed = all(facts.parameters[name].family in ("tensor", "list") for name in said.subjects)
    if not said.subjects or not listed or not facts.tensors(names):
        return False
    for subject in said.subjects:
        for name in names:
            for attribute in said.claim.of("what"):
                facts.same(attribute, subject, name, said.line, said.when)
    return True


def _alike(facts: Facts, said: PlacedClaim) -> bool:
    first, *others = facts.in_order(said.subjects)
    if not others or not facts.tensors(said.subjects):
        return False
    for attribute in said.claim.of("what"):
        for other in others:
            facts.same(attribute, other, first, said.line, said.when)
    return True


def _alike_inputs(facts: Facts, said: PlacedClaim) -> bool:
    """The inputs that may have the dtypes that a sentence names."""
    keys = {n: p.keys.get("dtype") for n, p in facts.parameters.items() if p.kind == "tensor"}
    told = sorted(said.claim.of("dtypes"))
    inputs = [
        name for name, key in keys.items() if key and sorted(cast(list[str], key.value)) == told
    ]
    return _alike(facts, said.about(inputs))


def _key(key: str, value: object) -> Callable[[Facts, PlacedClaim], bool]:
    """A key of the tensors that a sentence speaks of."""

    def of_tensors(facts: Facts, said: PlacedClaim) -> bool:
        return (
            bool(said.subjects)
            and facts.tensors(said.subjects)
            and all(facts.set(name, key, value, said.line) for name in said.subjects)
        )

    return of_tensors


def _no_empty(facts: Facts, said: PlacedClaim) -> bool:
    """A key, or under a condition a rule."""
    if not said.when:
        return _key("empty", False)(facts, said)
    names = said.subjects if facts.tensors(said.subjects) else ()
    return bool(names) and all(
        facts.relate(f"{name}.numel > 0", said.line, (name,), "numel", said.when) for name in names
    )


def _rank(facts: Facts, said: PlacedClaim) -> bool:
    listed = cells.ranks("、".join(said.claim.of("ranks")))
    return listed is not None and _key("rank", listed)(facts, said)


def _rank_most(facts: Facts, said: PlacedClaim) -> bool:
    (most,) = said.claim.numbers("number")
    known = [facts.parameters[name].keys.get("rank") for name in said.subjects]
    listed = [key.value for key in known if key and isinstance(key.value, list)]
    return bool(listed) and all(max(ranks) == most for ranks in listed)


def promotes(facts: Facts, names: Iterable[str]) -> bool:
    """Whether any two dtypes of these tensors have one to which both convert: real numbers do."""
    told = [facts.parameters[name].keys.get("dtype") for name in names]
    return all(
        key and {d for s in per_product(key.value).values() for d in s} <= FLOATS for key in told
    )


def _promoted(facts: Facts, said: PlacedClaim) -> bool:
    """No rule; what says that these dtypes agree then contradicts it."""
    names = (*said.subjects, *said.claim.of("names"))
    facts.promoted |= {frozenset(pair) for pair in combinations(names, 2)}
    return promotes(facts, names)


def _dims(facts: Facts, said: PlacedClaim) -> bool:
    """The largest extent of these tensors, or of all: a power of two."""
    (power,) = said.claim.numbers("number")
    names = said.subjects or [parameter.name for parameter in facts.of_family("tensor")]
    return all(facts.set(name, "dims", [0, 1 << power], said.line) for name in names)


FAMILIES: Mapping[str, Callable[[Facts, PlacedClaim], bool]] = {
    "same": _same,
    "alike": _alike,
    "promoted": _promoted,
    "paired": paired,
    "masked": lambda facts, said: bool(masks.masked(facts, said)),
    "dims": _dims,
    "words": lambda facts, said: (
        bool(said.subjects)
        and all(
            facts.parameters[name].kind == "string"
            and facts.set(name, "enum", list(said.claim.of("words")), said.line)
            for name in said.subjects
        )
    ),
    "word": values.word,
    "listed_word": values.listed_word,
    "dtypes": dtype_lists.dtypes,
    "dtypes_of": dtype_lists.dtypes_of,
    "no_dtypes": dtype_lists.no_dtypes,
    "no_formats": dtype_lists.no_formats,
    "formats": lambda facts, said: _key("format", [*said.claim.of("formats")])(facts, said),
    "strided": _key("strided", True),
    "rank": _rank,
    "rank_most": _rank_most,
    "empty": _key("empty", True),
    "no_empty": _no_empty,
    "optional": lambda facts, said: all(
        facts.set(name, "null", True, said.line) for name in said.subjects
    ),
    "length": values.length,
    "length_of": values.length_of,
    "length_axis": lambda facts, said: (
        {*said.claim.of("letter")} <= axes.letters_of(facts)
        and all(
            facts.set(n, "length", [*said.claim.of("letter")], said.line) for n in said.subjects
        )
    ),
    "slots": values.slots,
    "above": values.above,
    "items_above": lambda facts, said: bool(values.items_above(facts, said)),
    "least": values.least,
    "natural": values.least,
    "below": values.bound("max", "<", -1),
    "most": values.bound("max", "<=", 0),
    "half": values.half,
    "range": values.limits,
    "length_also": values.length_also,
    "convolved": values.convolved,
    "masks": masks.masks,
    "enum": values.enum,
    "broadcast": broadcast,
    "broadcast_result": lambda facts, said: bool(broadcast_result(facts, said)),
    "rules": lambda facts, said: bool(relations(facts, said)),
    "padded": lambda facts, said: bool(padded(facts, said)),
    "alike_inputs": _alike_inputs,
    "letters": axes.letters,
    "chosen": chosen.chosen,
    "counted": axes.counted,
    "extents": axes.extents,
    "same_axes": lambda facts, said: bool(axes.same_axes(facts, said)),
}
"""Family of statements -> what it makes of one."""
CONDITIONAL = {"rules", "same", "alike", "no_empty", "letters"}
"""Families of facts that may hold under a condition alone."""
OF_PRODUCTS = {"paired", "dtypes", "no_dtypes", "no_formats"}
"""Families of facts that may hold for some products alone, but under no other condition."""
