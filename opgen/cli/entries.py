"""What ``opgen explain`` says of a name: words, rules, codes and entries of the errata."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opgen.oracle.errata import PageErrata
    from opgen.report.explained import Entry
    from opgen.spec.rules import Rule
    from opgen.spec.spec import Spec


def entries_of(name: str, operators: tuple[str, ...], all_calls: bool) -> Iterator[Entry]:
    """Everything of this name, whatever its kind; rules and codes of some operators, if any are
    named. ``all_calls``: a rule of several operators has calls even if no operator is named.
    """
    from itertools import chain

    from opgen.quality import mutants
    from opgen.report.words import meanings
    from opgen.spec.catalog import catalog

    name = name.removeprefix("mutant:")
    wrong = {mutant.name: mutant for mutant in mutants.ALL}
    families = {family.name for family in mutants.FAMILIES}
    family, _, member = name.partition("/")
    rules = [*entries_of(member, operators, all_calls)] if member and family in families else []
    if rules:
        meaning = f"{meanings(family)[0].meaning} Here, it is {member}."
        yield from ({"word": name, "kind": "Mutants", "meaning": meaning}, *rules)
        return
    for word in meanings(name):
        entry: dict[str, object] = {
            "word": word.word,
            "kind": word.section,
            "meaning": word.meaning,
        }
        if word.section == "Mutants":
            where = [spec.op for spec in catalog().specs if wrong[word.word].applies(spec)]
            entry["operators"] = list(dict.fromkeys(where))
        yield entry
    for spec in catalog().specs:
        if name in (spec.op, spec.api):
            meaning = f"an operator, {spec.api}. opgen ops {spec.op} says more."
            yield {"word": name, "kind": f"page {spec.name}", "meaning": meaning}
    apis = [catalog().api(operator) for operator in operators]
    calls = bool(all_calls or apis) or len({s.api for s in catalog().specs if name in s.rule}) == 1
    for spec in chain.from_iterable(map(catalog().of, apis)) if apis else catalog().specs:
        yield from (_rule(spec, rule, calls) for rule in spec.rules if rule.id == name)
        if name in _codes(spec):
            yield _code(spec, name)
    yield from (_erratum(page, name) for page in pages_with(name))


def pages_with(name: str) -> Iterator[PageErrata]:
    """The errata, page by page, that have an entry of this name. A file is read if it names it."""
    from opgen.oracle.as_page import PREFIX
    from opgen.oracle.errata_folder import errata

    shipped = errata()
    for api, path in shipped.files.items():
        if not name.startswith(PREFIX) and name in path.read_text(encoding="utf-8"):
            yield from (page for page in shipped[api].pages.values() if name in page.entry)


def _erratum(page: PageErrata, name: str) -> dict[str, object]:
    from opgen.oracle.release_changes import said

    entry = page.entry[name]
    return {
        "word": name,
        "kind": "entry",
        "page": page.spec.name,
        "api": page.spec.api,
        "says": said(entry),
        "where": list(entry.where),
        "basis": entry.basis,
        "evidence": entry.evidence and vars(entry.evidence),
        "accepted": entry.accepted,
        "note": entry.note,
    }


def _rule(spec: Spec, rule: Rule, with_calls: bool) -> Entry:
    from opgen.calls.call_json import to_json
    from opgen.lint.facts import answer
    from opgen.quality.rule_examples import rule_example
    from opgen.suite.selection import Request

    entry: Entry = {
        "word": rule.id,
        "kind": "rule",
        "page": spec.name,
        "api": spec.api,
        "lines": list(rule.at),
        "answer": answer(rule),
        "requires": rule.text,
        "note": rule.note,
    }
    suite = Request(operators=[spec.op], plan="standard").suite
    shown = rule_example(suite(), spec.name, rule) if with_calls else None
    if shown is not None:
        entry["example"] = {
            "breaks": {"id": shown.case, "found": shown.found, "call": to_json(shown.illegal)},
            "obeys": {"id": shown.nearest_valid, "call": to_json(shown.legal)},
            "differs": shown.differs,
        }
    return entry


def _codes(spec: Spec) -> set[str]:
    """The codes and clauses that a page names."""
    named = [(rule.code, rule.clause, rule.likely) for rule in spec.rules]
    return {str(code) for codes in named for code in codes if code} | set(spec.clauses)


def _code(spec: Spec, code: str) -> Entry:
    """All rules of a page behind a code, or behind one clause of it, and those of which it is
    likely.
    """
    return {
        "word": code,
        "kind": "code",
        "page": spec.name,
        "api": spec.api,
        "rules": [
            {
                "rule": rule.id,
                "clause": rule.clause or ("likely" if rule.likely else None),
                "lines": list(rule.at),
                "requires": rule.text,
            }
            for rule in spec.rules
            if code in (str(rule.code), rule.clause) or code.partition(".")[0] == str(rule.likely)
        ],
    }
