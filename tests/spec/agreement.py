"""Whether two specs of one page say the same: facts under names that no person chose.

A person may write one fact in several ways. Letters of a shape are equalities of axes, the same
letters a common shape; equalities are compared with what follows from them; an output's ``when``
that is its own mask is no part of a fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from opgen.lint.facts import answer, dtypes
from opgen.spec.drafting.facts import reached
from opgen.spec.parameter import Parameter
from opgen.spec.rules import Rule
from opgen.spec.spec import Spec
from tests.spec.equalities import follows

EQUAL = re.compile(r"(\w+)\.(dtype|format|rank|shape) == (\w+)\.\2( when .*)?")
AXES = re.compile(r"(\w+)\.shape\[(-\d)\] == (\w+)\.shape\[(-\d)\]")
OF_A_RANK = re.compile(r"( when|,) \w+\.rank (?:==|>|>=) \d+$")
PRODUCTS = re.compile(r"product (==|!=|in|not in) (\([^()]*\)|'?\w+'?)")
ITEM = re.compile(r"(\w+)\[\d\] (<= \d+(?: when .*)?)$")
NOT_EMPTY = re.compile(rf"(\w+\.numel != 0) when ({PRODUCTS.pattern})")
RANKS = re.compile(r"(\w+)\.rank in \([\d, ]*\)$")
ARRAY = re.compile(r"\w+ == \w+\.shape$|\w+\.shape == \w+$")
SAME_RANK = re.compile(
    r"((\w+)\.shape == (\w+)\.shape) when (?:\2\.rank == \3|\3\.rank == \2)\.rank$"
)
WITHOUT = re.compile(r"without\((\w+)\.shape, \w+\) == without\((\w+)\.shape, \w+\)$")
FIRST = re.compile(r"(\w+\.dtype) == first\((\w+)\.dtype, (\w+\.dtype)\)$")
MEMBERS = re.compile(r"; \w+\[[1-9]\d?\][^;]*| when len\(\w+\) > 0")
"""What a key of a list says of its tensors but for the first."""
SHAPES = re.compile(
    r"[\w\[\]]+\.shape == [\w\[\]]+\.shape(?: when len\(\w+\) > 0)?$|broadcast.* == \w+\.shape$"
)
"""Facts that one tensor has the shape of others."""
NESTED = re.compile(r"broadcastable\((\w+)\.shape, broadcast\((\w+)\.shape, (\w+)\.shape\)\)$")


class Fact(NamedTuple):
    """What is said, where its breach is answered, and its lines."""

    says: str
    place: str
    lines: frozenset[int]

    @property
    def code(self) -> str:
        """The answer without the number of its clause."""
        return self.place.split(",")[0].split(".")[0]


def facts_of(spec: Spec) -> dict[str, Fact]:
    """The facts of a spec's page: name -> fact. What is ``assumed`` is no fact of the page."""
    members = {name for name in spec.parameters if "[" in name}
    own = {name: p for name, p in spec.parameters.items() if name not in members}
    facts = {
        f"parameter {name}": Fact(f"{place} {parameter.kind}", "", frozenset())
        for place, (name, parameter) in enumerate(own.items())
    }
    names = names_of(spec)
    listed = {product: dtypes(spec, product) for product in spec.products}
    for rule in spec.rules:
        if rule.bucket == "assumed":
            continue
        at = spec.parameters[rule.parameter].at if rule.parameter else ()
        for name, says in named(spec, rule, names, listed):
            if any(member in f"{name} {says}" and not member.endswith("[0]") for member in members):
                continue
            facts[name] = Fact(says, answer(rule), frozenset((*rule.at, *at)))
    return facts


def named(
    spec: Spec,
    rule: Rule,
    names: Mapping[str, str],
    listed: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> Iterator[tuple[str, str]]:
    """What a rule says, each with its name: dtypes product by product, relations each on its own,
    shapes axis by axis.
    """
    own = spec.parameters.get(rule.parameter or "")
    if rule.key == "dtype":
        lists = [sorted(listed[p].get(str(rule.parameter), ())) for p in sorted(spec.products)]
        yield rule.id, str(lists)
    elif rule.key == "shape" and own:
        yield from ((says, says) for says in axes(spec, own))
    elif rule.key is None and rule.id != "product":
        for says in relations(spec, rule, names):
            yield says, says
    else:
        text = MEMBERS.sub("", rule.text) if own and own.is_list else rule.text
        text = re.sub(r"\(([^()]*)\)", in_order, without_mask(spec, plain(text, names)))
        text = by_product(spec, text) if rule.key == "format" else text
        most = re.fullmatch(r"(\w+\.rank) in \((0, 1, 2.*)\)", text)
        text = f"{most[1]} <= {most[2].split(', ')[-1]}" if most else text
        filled = NOT_EMPTY.fullmatch(text) if rule.key == "empty" else None
        held = PRODUCTS.fullmatch(filled[2]) if filled else None
        if filled and held:
            yield from ((f"{filled[1]} when product == {p}",) * 2 for p in products(spec, held))
        elif rule.key == "range":
            yield from ((limit, limit) for limit in text.split(" and "))
        else:
            yield text if most or rule.key in ("min", "max") else rule.id, text


def relations(spec: Spec, rule: Rule, names: Mapping[str, str]) -> Iterator[str]:
    """The requirements of a rule, equalities with their sides in order."""
    for guard in rule.guards:
        when = f" when {conjuncts(spec, plain(guard.when.text, names))}" if guard.when else ""
        text = from_the_end(spec, plain(guard.require.text, names))
        text = text.removeprefix("True == ").removesuffix(" == True")
        text = re.sub(r"\.numel > 0$", ".numel != 0", text)
        chosen = FIRST.match(text)
        if chosen:
            result, first, rest = chosen.groups()
            yield without_mask(spec, f"{result} == {first}.dtype{when}")
            yield without_mask(spec, f"{result} == {rest} when {first}.null{when}")
            continue
        nested = NESTED.match(text)
        if nested:
            yield from (
                in_turn(spec, f"broadcastable({nested[1]}.shape, {nested[i]}.shape)")
                for i in (2, 3)
            )
            continue
        left, equals, right = text.partition(" == ")
        said = equals.join(sorted((left, right))) if equals else in_turn(spec, left)
        said, held = (
            without_mask(spec, said + when),
            PRODUCTS.fullmatch(when.removeprefix(" when ")),
        )
        if held:
            yield from (
                f"{said.removesuffix(when)} when product == {p}" for p in products(spec, held)
            )
            continue
        said = SAME_RANK.sub(r"\1", said)
        yield OF_A_RANK.sub("", said) if AXES.match(said) else said


def conjuncts(spec: Spec, when: str) -> str:
    """The parts of a condition in order, its products as the page has them, without those that hold
    for every rank that a tensor may have.
    """
    when = re.sub(r"not \(product in (\([^()]*\))\)", r"product not in \1", when)
    of_page = PRODUCTS.sub(lambda held: f"product in {(*products(spec, held),)}", when)
    parts = of_page.split(" and ")
    if any(part.count("(") != part.count(")") for part in parts):
        return of_page
    ranks = [told for told in map(RANKS.fullmatch, parts) if told]
    always = {told[0] for told in ranks if told[0] == spec.rule[f"{told[1]}.rank"].text}
    return " and ".join(sorted({*parts} - always))


def by_product(spec: Spec, text: str) -> str:
    """A list that depends on the product and nothing else, product by product."""
    parts = [part.partition(" when ") for part in text.split("; ")]
    held = [PRODUCTS.fullmatch(when) for _, _, when in parts]
    lists = {
        product: told
        for (told, _, _), condition in zip(parts, held, strict=True)
        for product in (products(spec, condition) if condition else ())
    }
    return str(sorted(lists.items())) if all(held) else text


def products(spec: Spec, told: re.Match[str]) -> list[str]:
    """The products of the page of which a condition speaks."""
    named = set(re.findall(r"\w+", told[2]))
    return sorted(p for p in spec.products if (p in named) == (told[1] in ("==", "in")))


def in_turn(spec: Spec, text: str) -> str:
    """Two shapes that broadcast, in the order of the prototype."""
    pair = re.fullmatch(r"broadcastable\((\w+)\.shape, (\w+)\.shape\)", text)
    if not pair:
        return text
    first, last = sorted(pair.groups(), key=[*spec.parameters].index)
    return f"broadcastable({first}.shape, {last}.shape)"


def axes(spec: Spec, own: Parameter) -> Iterator[str]:
    """What the letters of a shape say: that it is the shape of an earlier tensor, or that axes
    are those of earlier tensors or the values of scalars.
    """
    earlier = [*spec.parameters.values()][: [*spec.parameters].index(own.name)]
    own = spec.parameters.get(f"{own.name}[0]", own)
    for other in earlier:
        if other.shapes == own.shapes != {}:
            yield " == ".join(sorted((f"{own.name}.shape", f"{other.name}.shape")))
            return
    places = names_of(spec, earlier)
    for shape in own.shapes.values() if len(own.shapes) == 1 else ():
        for axis, extent in enumerate(shape):
            if isinstance(extent, int):
                yield f"{extent} == {own.name}.shape[{axis - len(shape)}]"
    told = {}
    for shape in own.shapes.values():
        for axis, letter in enumerate(shape):
            if str(letter) in places:
                pair = (places[str(letter)], f"{own.name}.shape[{axis - len(shape)}]")
                told[" == ".join(sorted(pair))] = None
    yield from told


def from_the_end(spec: Spec, text: str) -> str:
    """Axes of tensors that have one rank, counted from the last."""

    def counted(axis: re.Match[str]) -> str:
        rule = spec.rule.get(f"{axis[1]}.rank")
        ranks = re.findall(r"\d", rule.text) if rule else ()
        return f"{axis[1]}.shape[{int(axis[2]) - int(ranks[0])}]" if len(ranks) == 1 else axis[0]

    return re.sub(r"(\w+)\.shape\[(\d)\]", counted, text)


def in_order(members: re.Match[str]) -> str:
    return "(" + ", ".join(sorted(filter(None, map(str.strip, members[1].split(","))))) + ")"


def without_mask(spec: Spec, text: str) -> str:
    """A fact about an output without the condition that its mask asks for it."""
    output = spec.parameters.get(re.split(r"[.\[ ]", text)[0])
    masks = {p.mask.text for p in spec.parameters.values() if p.mask and p.name in text}
    for mask in masks if output else ():
        text = text.removesuffix(f" when {mask}")
    return text


def names_of(spec: Spec, of: Iterable[Parameter] | None = None) -> dict[str, str]:
    """Letter or slot -> the axis, from the last, or the item that it is."""
    result: dict[str, str] = {}
    for parameter in spec.parameters.values() if of is None else of:
        for shape in parameter.shapes.values():
            for axis, letter in enumerate(shape):
                result.setdefault(str(letter), f"{parameter.name}.shape[{axis - len(shape)}]")
        for size, slots in sorted(parameter.items.items(), reverse=True):
            for item, (slot, *_) in enumerate(slots):
                if size == len(slots):
                    result.setdefault(slot, f"{parameter.name}[{item}]")
    return result


def plain(text: str, names: Mapping[str, str]) -> str:
    return re.sub(
        r"(?<![\w.'])[A-Za-z_]\w*(?![\w'(])", lambda word: names.get(word[0], word[0]), text
    )


# one spec held against another --------------------------------------------------------------------
def says_too(name: str, fact: Fact, others: Mapping[str, Fact]) -> bool:
    """Whether other facts have this one, with its code and a line, or it follows from them."""
    other = others.get(name)
    if other:
        lines = not fact.lines or not other.lines or bool(fact.lines & other.lines)
        return lines and (fact.says, fact.code) == (other.says, other.code)
    equal = EQUAL.fullmatch(fact.says)
    if equal and joined(fact, equal, others):
        return True
    item = ITEM.fullmatch(fact.says)
    every = others.get(f"highest({item[1]}) {item[2]}") if item else None
    if every and (fact.code == every.code and fact.lines & every.lines):
        return True
    axes = AXES.fullmatch(fact.says)
    if axes and axis_joined(fact, axes, others):
        return True
    if follows(fact.says, fact.code, [(other.says, other.code) for other in others.values()]):
        return True
    return only_format(fact, others) or of_the_same(fact, others) or told_elsewhere(fact, others)


def joined(fact: Fact, equal: re.Match[str], others: Mapping[str, Fact]) -> bool:
    """Whether equalities with the same answer join what this one joins."""
    one, attribute, other, when = equal.groups()
    pairs = []
    for candidate in others.values():
        match = EQUAL.fullmatch(candidate.says)
        alike = match and (match[2] == attribute or (match[2], attribute) == ("shape", "rank"))
        if match and alike and (match[4], candidate.code) == (when, fact.code):
            pairs.append(frozenset((match[1], match[3])))
        elif (attribute, candidate.code) == ("rank", fact.code) and WITHOUT.match(candidate.says):
            pairs.append(frozenset(re.findall(r"(\w+)\.shape", candidate.says)))
        elif (attribute, when, candidate.code) == ("shape", None, fact.code):
            array = ARRAY.match(candidate.says)
            pairs += [frozenset(re.findall(r"\w+", array[0])) - {"shape"}] if array else []
    return other in reached(one, pairs)


def axis_joined(fact: Fact, equal: re.Match[str], others: Mapping[str, Fact]) -> bool:
    """Whether equalities of axes or shapes with the same answer join what this one joins."""
    pairs = []
    for candidate in (c for c in others.values() if c.code == fact.code):
        axes, shapes = AXES.fullmatch(candidate.says), EQUAL.fullmatch(candidate.says)
        if axes:
            pairs.append(frozenset((axes[1] + axes[2], axes[3] + axes[4])))
        elif shapes and shapes[2] == "shape" and not shapes[4]:
            pairs += [frozenset((f"{shapes[1]}-{i}", f"{shapes[3]}-{i}")) for i in range(1, 9)]
    return equal[3] + equal[4] in reached(equal[1] + equal[2], pairs)


def only_format(fact: Fact, others: Mapping[str, Fact]) -> bool:
    """Two tensors that both have the only format."""
    same = re.fullmatch(r"(\w+)\.format == (\w+)\.format", fact.says)
    found = [others.get(f"{name}.format") for name in same.groups()] if same else []
    told = [f.says.partition(".")[2] for f in found if f]
    return len(told) == 2 and told[0] == told[1] and "," not in told[0]


def of_the_same(fact: Fact, others: Mapping[str, Fact]) -> bool:
    """A rank, or no extent of 0, as a tensor of the same shape has it, as the inputs of a broadcast
    have it, or as the items of an array that is the shape are many.
    """
    told = re.match(r"(\w+(?:\[0\])?)(\.rank (?:in|<=|>=) .*|\.numel != 0)$", fact.says)
    if not told:
        return False
    pairs = [
        frozenset(re.findall(r"(\w+(?:\[0\])?)\.shape", other))
        for other in others
        if SHAPES.match(other)
    ]
    pairs += [
        frozenset(re.findall(r"\w+", pair)) - {"shape"} for pair in others if ARRAY.match(pair)
    ]
    stated = {other.says for other in others.values()}
    stated |= {
        says.replace(f"len({a})", f"{a}.rank")
        for says in stated
        for a in re.findall(r"^len\((\w+)\) in", says)
    }
    stated |= {
        f"{name}.rank in ({1 + axes.rstrip(',').count(',')})"
        for axes, name in re.findall(r"\(([^()]*)\) == (\w+)\.shape", "; ".join(others))
    }
    return any(
        f"{other}{rest}" in stated
        for other in reached(told[1], pairs)
        for rest in (told[2], *ends(told[2]))
    )


def ends(rest: str) -> list[str]:
    """The limit to which a list of ranks comes where the least rank is stated by itself."""
    ranks = re.findall(r"\d", rest) if " in " in rest else []
    return [f".rank <= {ranks[-1]}"] if ranks[:1] == ["1"] else []


def told_elsewhere(fact: Fact, others: Mapping[str, Fact]) -> bool:
    """Whether what forbids one tensor to be empty is told of another that has its line."""
    return fact.says.endswith(".numel != 0") and any(
        other.says.endswith(".numel != 0")
        and fact.code == other.code
        and fact.lines <= other.lines | fact.lines
        and max(fact.lines, default=0) in other.lines
        for other in others.values()
    )
