"""Holding specs against the pages that they were transcribed from.

A spec keeps the sha256 of its page and a short digest of every line that a fact cites; the page's
sentences are not copied. With a folder of pages at hand this says which facts stand on lines that
changed, and, by the sha256, whether anything else did: what a new release adds stands on lines that
no fact cites yet.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from opgen.calls.factorize import by_key
from opgen.files.digests import digest_block, line_digest
from opgen.model import FileError, Problem, collecting
from opgen.spec.spec import Spec
from opgen.suite.naming import product_in
from opgen.suite.suite import Suite

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class PageChange:
    """One line of a page on which facts stand and that is no longer what it was, and the cases that
    rely on it.

    A line has ``vanished`` where another one that is cited, or none, stands in its place now:
    ``changed`` where an unknown one does. ``differs``, without a line and last of its page: the
    text is not the one that was transcribed, so that lines may be new.
    """

    spec: str
    line: int | None
    state: str
    moved_to: int | None
    facts: tuple[str, ...]
    cases: tuple[str, ...] = ()


def facts_by_line(spec: Spec) -> dict[int, list[str]]:
    """Line of the page -> the rules, parameters, products, modes and remarks that cite it, in the
    page's order.
    """
    citing = [
        *((rule.id, rule.at) for rule in spec.rules),
        *((parameter.name, parameter.at) for parameter in spec.parameters.values()),
        *((f"product {product}", lines) for product, lines in spec.listed.items()),
        *((f"compute {mode.dtype}", mode.at) for mode in spec.modes),
        *((f"remark.{line}", (line,)) for line in spec.remarks),
    ]
    facts = by_key((line, fact) for fact, lines in citing for line in lines)
    return {line: list(dict.fromkeys(facts[line])) for line in sorted(facts)}


def read_page(spec: Spec, folder: Path) -> tuple[list[str], str]:
    """The lines of a spec's page in ``folder`` and the sha256 of its bytes; raises FileError where
    it is not there, or no UTF-8.
    """
    content = _content(spec, folder)
    return content.decode("utf-8-sig").split("\n"), hashlib.sha256(content).hexdigest()


def is_text_of(content: bytes, sha256: str) -> bool:
    """Whether a page is the one with this digest, but for a byte order mark, the ends of its lines,
    and that of the last.
    """
    plain = b"\n".join(line.removesuffix(b"\r") for line in content.removeprefix(BOM).split(b"\n"))
    for mark, ended, end in product(
        (b"", BOM), (plain, plain.removesuffix(b"\n"), plain + b"\n"), (b"\n", b"\r\n")
    ):
        if hashlib.sha256(mark + ended.replace(b"\n", end)).hexdigest() == sha256:
            return True
    return False


def _content(spec: Spec, folder: Path) -> bytes:
    assert spec.page is not None
    path = folder / spec.page.file
    try:
        content = path.read_bytes()
        content.decode()
    except OSError as error:
        raise FileError.of(str(path), "", f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        text = "is not UTF-8; convert the page first, iconv does"
        raise FileError.of(str(path), "", text, line) from None
    return content


def of_this_folder(specs: Sequence[Spec], folder: Path) -> list[Spec]:
    """The specs without those of an edition of which the folder has no page, where it has one of
    another edition of the operator.
    """
    there = {
        (spec.api, spec.edition)
        for spec in specs
        if spec.page is None or (folder / spec.page.file).exists()
    }
    known = {api for api, _ in there}
    return [s for s in specs if s.api not in known or (s.api, s.edition) in there]


def readable(specs: Iterable[Spec], folder: Path) -> tuple[list[Spec], list[Problem]]:
    """The specs whose page can be read, and a problem for each other."""
    readable_specs: list[Spec] = []
    problems: list[Problem] = []
    for spec in specs:
        with collecting(problems):
            _content(spec, folder)
            readable_specs.append(spec)
    return readable_specs, problems


def audit(spec: Spec, folder: Path) -> list[PageChange]:
    """What changed on the lines that a spec cites, and whether the page is another; empty where its
    text is the one transcribed.
    """
    if spec.page is None:
        return []
    lines, _ = read_page(spec, folder)
    places = by_key((line_digest(text), place) for place, text in enumerate(lines, 1))
    cited = facts_by_line(spec)
    now = {line: places.get(spec.page.lines.get(line, ""), []) for line in cited}
    shifts = {line: where[0] - line for line, where in now.items() if len(where) == 1}
    kept = {line + shift for line, shift in shifts.items()}
    changes = []
    for line, facts in cited.items():
        if line in now[line]:
            continue
        expected = line + shifts.get(min(shifts, key=lambda known: abs(known - line), default=0), 0)
        elsewhere = min(now[line], key=lambda place: abs(place - expected), default=None)
        gone = expected > len(lines) or expected in kept
        state = "moved" if elsewhere else "vanished" if gone else "changed"
        changes.append(PageChange(spec.name, line, state, elsewhere, tuple(facts)))
    if not is_text_of(_content(spec, folder), spec.page.sha256):
        changes.append(PageChange(spec.name, None, "differs", None, ()))
    return changes


def with_cases(
    changes: Iterable[PageChange], facts: Mapping[str, Mapping[str, frozenset[str]]]
) -> list[PageChange]:
    """The changes with the cases that they touch: those that break a rule that stands on the line,
    or aim to, those for a product that the line lists, and those that compute as it says.

    ``facts`` maps each spec's name to its cases and the facts that these rely on:
    :func:`facts_of_suite`, :func:`facts_of_lock`.
    """
    return [
        replace(
            change,
            cases=tuple(
                case
                for case, relied in facts.get(change.spec, {}).items()
                if not relied.isdisjoint(change.facts)
            ),
        )
        for change in changes
    ]


def facts_of_suite(spec: Spec, suite: Suite) -> dict[str, frozenset[str]]:
    """Case id -> the rules of a spec that it aims at or breaks, its product, and its compute
    mode.
    """
    cases = suite.cases.take(suite.cases.rows_of(spec.api, spec.judges))
    columns = zip(cases.id, cases.purposes, cases.page, cases.product, cases.compute, strict=True)
    return {
        name: frozenset(
            {
                *(rule for purpose in purposes for rule in purpose.rules),
                *(b.rule for b in page.breaks),
                f"product {product}",
                f"compute {compute}",
            }
        )
        for name, purposes, page, product, compute in columns
    }


def facts_of_lock(broken: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Case id -> the rules that a lock says it breaks, and the product in its id."""
    return {case: rules | {f"product {product_in(case)}"} for case, rules in broken.items()}


def page_block(spec: Spec, folder: Path) -> str:
    """The keys ``sha256`` and ``lines`` of a spec's page, made from the page as it is now."""
    lines, sha256 = read_page(spec, folder)
    return f"  sha256: {sha256}\n  lines: |\n{digest_block(lines, list(facts_by_line(spec)))}"


def with_page_block(text: str, spec: Spec, block: str) -> str:
    """The text of a spec with this block under its page, in place of what stood there."""
    assert spec.page is not None
    page = f"page:\n  file: {spec.page.file}\n{block}\n"
    return re.sub(r"^page:.*\n(?:[ \t]+.*\n)*", lambda _: page, text, count=1, flags=re.MULTILINE)
