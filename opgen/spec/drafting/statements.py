"""What a page demands: each family of patterns makes facts, or none where it is not sure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations, product
from typing import cast

from opgen.spec.drafting import axes, cells, chosen, dtype_lists, masks, values
from opgen.spec.drafting.conditions import spatial_slots
from opgen.spec.drafting.dtype_pairs import paired
from opgen.spec.drafting.facts import Facts, bound, per_product, reached
from opgen.spec.drafting.placed_claim import PlacedClaim

LEAST = re.compile(r"(?:lowest\(\w+\)|\w+) >= (\d+)")
"""A least value of an array, or of one of its items."""
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


def _broadcast(facts: Facts, said: PlacedClaim) -> bool:
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
    "broadcast": _broadcast,
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
