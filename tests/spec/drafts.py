"""How much of a page becomes a draft, and how right it is: ``python -m tests.spec.drafts DIR``.

For each page in DIR it prints the facts drafted and the lines left. Where a spec of the same page
exists, the facts of the draft are held against those of the spec: a parameter (kind and order), or
a rule with its place, products and at least one common line. A rule whose place an undecided code
may be counts as not drafted. What a spec adds under ``assumed`` is no fact of the page. ``--all``
prints each fact that differs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from opgen.lint.facts import answer, dtypes
from opgen.model import FileError
from opgen.spec import specfile
from opgen.spec.catalog import catalog
from opgen.spec.drafting.draft import Draft, draft
from opgen.spec.drafting.facts import reached
from opgen.spec.drafting.writing import spec_text
from opgen.spec.pages.reading import read_page
from opgen.spec.rules import Rule
from opgen.spec.spec import Spec


class Fact(NamedTuple):
    """What is said, where its breach is answered, and its lines."""

    says: str
    place: str
    lines: frozenset[int]


def facts_of(spec: Spec) -> dict[str, Fact]:
    """The facts of a spec's page, each under a name that does not depend on how a person names
    rules, letters and slots.
    """
    facts = {
        name: Fact(f"{place} {parameter.kind}", "", frozenset())
        for place, (name, parameter) in enumerate(spec.parameters.items())
    }
    names = names_of(spec)
    listed = {product: dtypes(spec, product) for product in spec.products}
    for rule in spec.rules:
        if rule.bucket == "assumed":
            continue
        for says in said(spec, rule, names, listed):
            name = rule.id if rule.key else says
            own = spec.parameters[rule.parameter].at if rule.parameter else ()
            facts[name] = Fact(says, answer(rule), frozenset((*rule.at, *own)))
    return facts


def said(
    spec: Spec,
    rule: Rule,
    names: Mapping[str, str],
    listed: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> Iterator[str]:
    """What a rule says: dtypes product by product, relations each on its own."""
    if rule.key == "dtype":
        yield str([sorted(listed[p].get(str(rule.parameter), ())) for p in sorted(spec.products)])
    elif rule.key is None and rule.id != "product":
        for guard in rule.guards:
            when = f" when {plain(guard.when.text, names)}" if guard.when else ""
            left, equals, right = plain(guard.require.text, names).partition(" == ")
            yield equals.join(sorted((left, right)) if equals else [left, right]) + when
    else:
        yield re.sub(r"\(([^()]*)\)", in_order, plain(rule.text, names))


def in_order(members: re.Match[str]) -> str:
    return "(" + ", ".join(sorted(filter(None, map(str.strip, members[1].split(","))))) + ")"


def names_of(spec: Spec) -> dict[str, str]:
    """Letter or slot -> the axis, from the last, or the item that it is."""
    result: dict[str, str] = {}
    for parameter in spec.parameters.values():
        for shape in parameter.shapes.values():
            for axis, letter in enumerate(shape):
                result.setdefault(str(letter), f"{parameter.name}.shape[{axis - len(shape)}]")
        for size, slots in sorted(parameter.items.items(), reverse=True):
            for item, (slot, *_) in enumerate(slots):
                if size == len(slots):
                    result.setdefault(slot, f"{parameter.name}[{item}]")
    return result


def plain(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"(?<![\w.'])[A-Za-z_]\w*(?![\w'(])", lambda at: names.get(at[0], at[0]), text)


class Count(NamedTuple):
    """Facts of a draft that a spec has, has otherwise, or lacks, and those that the draft lacks."""

    right: int
    wrong: int
    missing: int


def compared(drafted: Draft, made: Spec, spec: Spec, everything: bool) -> Count:
    """How a draft and a spec agree."""
    ours, theirs = facts_of(made), facts_of(spec)
    open_rules = {name for rule in drafted.pending for name in spoken(made, rule)}
    sure = {name: fact for name, fact in ours.items() if name not in open_rules}
    differ = []
    for name, fact in sure.items():
        if name not in theirs and follows(fact, theirs):
            continue
        other = theirs.get(name)
        same = other and (fact.says, code(fact)) == (other.says, code(other))
        if not same or (other and fact.lines and other.lines and not fact.lines & other.lines):
            differ.append(name)
    missing = [name for name in theirs if name not in sure]
    if everything:
        for name in (*differ, *missing):
            print(f"    {name}: drafted {ours.get(name)}, transcribed {theirs.get(name)}")
    return Count(len(sure) - len(differ), len(differ), len(missing))


def follows(fact: Fact, theirs: Mapping[str, Fact]) -> bool:
    """Whether a fact that a spec does not state follows from those that it states: two tensors that
    both have the only format, or a rank or no extent of 0 as a tensor of the same shape.
    """
    same = re.fullmatch(r"(\w+)\.format == (\w+)\.format", fact.says)
    if same:
        one, other = (theirs.get(f"{name}.format") for name in same.groups())
        told = [f.says.partition(".")[2] for f in (one, other) if f]
        return len(told) == 2 and told[0] == told[1] and "," not in told[0]
    name, key, rest = next(
        (fact.says.partition(key) for key in (".rank in", ".numel != 0") if key in fact.says),
        (fact.says, "", ""),
    )
    joined = [other for other in theirs if re.match(r"(\w+)\.shape == (\w+)\.shape$", other)]
    pairs = [frozenset(re.findall(r"(\w+)\.shape", other)) for other in joined]
    stated = {other.says for other in theirs.values()}
    return bool(key) and any(f"{other}{key}{rest}" in stated for other in reached(name, pairs))


def code(fact: Fact) -> str:
    return fact.place.split(",")[0].split(".")[0]


def spoken(spec: Spec, rule: str) -> Iterator[str]:
    """The names under which the facts of a rule are counted."""
    names = names_of(spec)
    yield rule if spec.rule[rule].key else next(said(spec, spec.rule[rule], names, {}))


def main(folder: str, everything: bool) -> None:
    specs = {spec.page.file: spec for spec in catalog().specs if spec.page}
    total = Count(0, 0, 0)
    print(f"{'page':<46} facts  left  right wrong missing")
    for path in sorted(p for p in Path(folder).rglob("aclnn*") if p.suffix in (".md", ".txt")):
        try:
            drafted = draft(read_page(path), path.name)
        except FileError as error:
            print(f"{path.name:<46} {error.problems[0].text}")
            continue
        text = spec_text(drafted, path.name, path.read_bytes())
        made = specfile.loads(text.split("\ntodo:")[0])
        row = f"{path.name:<46} {len(facts_of(made)):5} {len(drafted.facts.undecided):5}"
        if path.name in specs:
            count = compared(drafted, made, specs[path.name], everything)
            total = Count(*map(sum, zip(total, count, strict=True)))
            row += "".join(f"{number:7}" for number in count)
        print(row)
    right, wrong, missing = total
    sure, known = max(right + wrong, 1), max(right + missing, 1)
    print(f"right {right / sure:.1%} of what is drafted; {right / known:.1%} of all facts drafted")


if __name__ == "__main__":
    main(sys.argv[1], "--all" in sys.argv)
