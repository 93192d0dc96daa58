"""What ``opgen explain`` prints: entries that are plain data, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from rich.text import Text

from opgen.report.layout import Paragraph
from opgen.report.terminal import argument_text

Entry: TypeAlias = dict[str, Any]
"""What is said of a word, a rule, a code or an entry of errata, as JSON has it."""


def few(entries: list[Entry]) -> Iterator[Entry]:
    """The same, where the codes of several pages are one entry, with their operators; rules of
    several operators are a list, after how to see the rule of one.
    """
    codes = [entry for entry in entries if entry["kind"] == "code"]
    rules = [entry for entry in entries if entry["kind"] == "rule"]
    operators = list(dict.fromkeys(entry["api"] for entry in rules))
    listed = [*(codes if len(codes) > 1 else ()), *(rules if len(operators) > 1 else ())]
    yield from (entry for entry in entries if entry not in listed)
    if len(codes) > 1:
        behind = sum(len(entry["rules"]) for entry in codes)
        yield {
            "word": codes[0]["word"],
            "kind": "Codes",
            "meaning": f"{behind} rules on {len(codes)} pages have this code. To see those of an"
            f" operator: opgen explain {codes[0]['word']} OP",
            "operators": list(dict.fromkeys(entry["api"] for entry in codes)),
        }
    if len(operators) > 1:
        word = rules[0]["word"]
        meaning = f"To see the rule of one operator, with calls: opgen explain {word} OP"
        yield {"word": word, "kind": "Rules", "meaning": meaning, "operators": operators}
        for rule in rules:
            place = f"line {', '.join(map(str, rule['lines'])) or 'none'}: {rule['answer']}"
            yield {"word": rule["page"], "kind": place, "meaning": rule["requires"]}


def lines(entry: Entry) -> Iterator[Paragraph]:
    """An entry, for people."""
    kind = entry["kind"] if "meaning" in entry else f"of {entry['page']}"
    yield Paragraph(Text.assemble((entry["word"], "bold"), "  ", (kind, "dim")))
    if "meaning" in entry:
        yield Paragraph(entry["meaning"], indent=2)
        if "operators" in entry:
            yield Paragraph(", ".join(entry["operators"]), "  operators", 13)
        return
    if entry["kind"] == "code":
        for rule in entry["rules"]:
            lines = ", ".join(map(str, rule["lines"])) or "none"
            yield Paragraph(f"{rule['rule']}  line {lines}", f"  {rule['clause'] or ''}", 13)
            yield Paragraph(rule["requires"], indent=13)
        return
    if entry["kind"] == "entry":
        yield Paragraph(entry["says"], indent=2)
        evidence = entry["evidence"]
        seen = evidence and [f"{evidence['n']} of {evidence['m']} calls of {evidence['file']}"]
        yield Paragraph(", ".join(seen or entry["where"]), f"  {entry['basis']}", 12)
        yield from (
            Paragraph(entry[key], f"  {key}", 12) for key in ("accepted", "note") if entry[key]
        )
        return
    lines = ", ".join(map(str, entry["lines"])) or "none"
    yield Paragraph(f"line {lines}; answer to a call that breaks it: {entry['answer']}", indent=2)
    yield Paragraph(entry["requires"], "  requires", 12)
    if entry["note"]:
        yield Paragraph(entry["note"], "  note", 12)
    if "example" not in entry:
        yield Paragraph(
            "no call of the standard suite breaks it; opgen cases --json says why", indent=2
        )
        return
    breaks, obeys = entry["example"]["breaks"], entry["example"]["obeys"]
    yield Paragraph(f"{breaks['found']}  in {breaks['id']}", "  breaks it", 13)
    yield Paragraph(obeys["id"], "  obeys it", 13)
    for name in entry["example"]["differs"]:
        if name not in obeys["call"] or name not in breaks["call"]:
            continue  # an element of a longer list, which is shown whole
        yield Paragraph(name, indent=2)
        yield Paragraph(argument_text(obeys["call"][name]), "    obeys", 13)
        yield Paragraph(argument_text(breaks["call"][name]), "    breaks", 13)
