"""A draft as the text of a spec."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import cast

from opgen.files.digests import digest_block
from opgen.spec.drafting.draft import Draft
from opgen.spec.drafting.facts import DraftedParameter, Facts, snake
from opgen.spec.drafting.rule_ids import NO_RULE, bound, rule_ids

PLAIN = re.compile(r"[A-Za-z_][\w.]*\Z")
WORDS = {"true", "false", "null", "yes", "no", "on", "off"}
"""Words that YAML takes for something else, in lower case."""
WIDTH = 120


def spec_name(api: str) -> str:
    """The name of the spec of an operator.

    >>> spec_name("aclnnAvgPool2dBackward")
    'avg_pool2d_backward'
    """
    return snake(api.removeprefix("aclnn"))


def spec_text(draft: Draft, file: str, content: bytes, edition: str = "") -> str:
    """A spec file of a draft, whose page is called ``file`` and has this content and edition."""
    facts = draft.facts
    lines = content.decode("utf-8-sig").split("\n")
    rows = [
        f"# Drafted from {file}: decide each line under todo, then delete it.",
        f"api: {draft.api}",
        *([f"edition: {flow(edition)}"] if edition else []),
        f"page:\n  file: {file}\n  sha256: {hashlib.sha256(content).hexdigest()}\n  lines: |",
        digest_block(lines, _cited(draft)),
        f"products: {flow(draft.products)}",
        "\nparameters:",
    ]
    for parameter in facts.parameters.values():
        rows += [f"  {parameter.name}:", *_keys(parameter, facts)]
    if facts.rules:
        rows.append("\nrules:")
    for name, rule in facts.rules.items():
        when = {"each": rule.about[0]} if "[each]" in rule.require else {}
        when |= {"when": rule.when} if rule.when else {}
        at = one_or_more(_lines(facts, name, rule.at))
        rows.append(f"  {name}: {flow({'at': at, **when, 'require': rule.require})}")
    rows += ["", *_returns(draft)]
    if facts.undecided:
        rows.append("\ntodo:")
        rows += [f"  {line}: {flow(what)}" for line, what in facts.left().items()]
    return "\n".join(rows) + "\n"


def _keys(parameter: DraftedParameter, facts: Facts) -> Iterable[str]:
    """The keys of a parameter, a row each; its lines where they differ from its own."""
    at: dict[str, object] = {"parameter": parameter.line}
    if parameter.is_pointer and "null" not in parameter.keys:
        at["null"] = one_or_more(_lines(facts, f"{parameter.name}.null", []))
    for key, told in parameter.keys.items():
        if key not in NO_RULE and (key != "shape" or bound(facts, parameter.name)):
            at[key] = one_or_more(_lines(facts, f"{parameter.name}.{key}", told.at))
    yield f"    kind: {parameter.kind}"
    yield f"    at: {flow(at if len(at) > 1 else parameter.line)}"
    yield from (
        f"    {key}: {flow(told.value)}"
        for key, told in parameter.keys.items()
        if key != "rank" or "shape" not in parameter.keys
    )
    if parameter.family in ("tensor", "list") and "strided" not in parameter.keys:
        yield "    strided: false"


def _lines(facts: Facts, rule: str, lines: list[int]) -> list[int]:
    """The lines of a rule, first that of its clause, which a spec cites by itself if numbered."""
    place = facts.places.get(rule)
    if place is None or place.number:
        return lines
    return [place.line, *(line for line in lines if line != place.line)]


def _returns(draft: Draft) -> Iterable[str]:
    """The clauses with their lines, and the place of every rule."""
    facts = draft.facts
    known = rule_ids(facts)
    clauses: dict[int, dict[int, int]] = {}
    placed: dict[int, dict[int, list[str]]] = {}
    for rule, place in sorted(facts.places.items(), key=lambda item: item[1]):
        placed.setdefault(place.code, {}).setdefault(place.number, []).append(rule)
        if place.number:
            clauses.setdefault(place.code, {})[place.number] = place.line
    if clauses:
        yield f"clauses: {flow(clauses)}\n"
    yield "returns:"
    for code, numbers in placed.items():
        if 0 in numbers:
            yield from _wrapped(f"  {code}: ", [rule for some in numbers.values() for rule in some])
            continue
        yield f"  {code}:"
        for number, rules in numbers.items():
            yield from _wrapped(f"    {number}: ", rules)
    rest = [rule for rule in known if rule not in facts.places]
    silent = [rule for rule in rest if known[rule][1] == "null" or _unsaid(facts, rule)]
    yield from _wrapped("  unstated: ", [r for r in rest if r not in silent])
    if silent:
        yield from _wrapped("  assumed: ", silent)


def _unsaid(facts: Facts, rule: str) -> bool:
    """Whether no line says that a tensor has the letters of an earlier one."""
    name, _, key = rule.partition(".")
    return key == "shape" and not facts.parameters[name].keys[key].at


def _wrapped(head: str, rules: list[str]) -> list[str]:
    text = head + flow(rules)
    return wrap(
        text,
        WIDTH,
        subsequent_indent=" " * (len(head) + 1),
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _cited(draft: Draft) -> list[int]:
    """Every line that the draft names, those that are left to decide too."""
    facts = draft.facts
    lines = {
        *draft.products.values(),
        *facts.undecided,
        *(place.line for place in facts.places.values()),
    }
    for parameter in facts.parameters.values():
        lines |= {parameter.line, *(n for key in parameter.keys.values() for n in key.at)}
    lines |= {n for rule in facts.rules.values() for n in rule.at}
    return sorted(lines)


def one_or_more(lines: list[int]) -> object:
    """A line, or the list of several."""
    return lines[0] if len(lines) == 1 else lines


def _key(key: object) -> str:
    """A key, which may be a word that is something else as a value."""
    return key if isinstance(key, str) and PLAIN.match(key) else flow(key)


def flow(value: object) -> str:
    """A value in YAML's flow style, which reads back as it is.

    >>> flow({"any": ["FLOAT", "NO"], 3: [True, None, -1], "when": "x[0] != 1"})
    '{any: [FLOAT, "NO"], 3: [true, null, -1], when: "x[0] != 1"}'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and PLAIN.match(value) and value.lower() not in WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


def text_of(spec: dict[str, object], block: str, head: str) -> str:
    """A spec as text, its page's digests in ``block``; a row per fact."""
    page = cast(dict[str, object], spec["page"])
    rows = [f"# {head}", f"api: {spec['api']}"]
    rows.append(f"edition: {flow(spec['edition'])}")
    rows += [f"page:\n  file: {page['file']}\n{block}", f"products: {flow(spec['products'])}"]
    for key in ("parameters", "rules", "compute", "clauses", "returns", "todo"):
        body = cast(dict[str, object], spec.get(key) or {})
        rows += [f"\n{key}:"] if body else []
        for name, value in body.items():
            inner = cast(dict[str, object], value).items() if key == "parameters" else ()
            rows.append(f"  {name}:" if inner else f"  {flow(name)}: {flow(value)}")
            rows += [f"    {of}: {flow(told)}" for of, told in inner]
    return "\n".join(rows) + "\n"
