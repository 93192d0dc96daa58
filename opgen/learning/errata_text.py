"""What was learnt, as errata: a text for each operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from opgen.learning.lesson import Finding, Lesson
from opgen.learning.statuses import DIED, Statuses, code
from opgen.oracle.errata_form import UNTIL, EntryForm, ErrataForm
from opgen.spec.spec import Spec

DIGEST = 16
"""Hexadecimal digits of a file's digest in an entry."""
VERBS = {0: "not_enforced", DIED: "crashes"}


@dataclass(frozen=True)
class Entry:
    """A finding under the id that it has in an errata file."""

    id: str
    page: Spec
    finding: Finding


def entries(lessons: Sequence[Lesson]) -> Iterator[Entry]:
    """The entries of one operator, each under an id of its own."""
    taken: set[str] = set()
    for lesson in lessons:
        for finding in lesson.entries:
            base = name = _id(lesson.returned.spec, finding)
            number = 2
            while name in taken:
                name, number = f"{base}_{number}", number + 1
            taken.add(name)
            yield Entry(name, lesson.returned.spec, finding)


def _id(spec: Spec, finding: Finding) -> str:
    verb = VERBS.get(finding.status, f"returns_{finding.status}")
    if not finding.rules:
        return "crashes" if finding.status == DIED else f"refused_with_{finding.status}"
    if not finding.differs and not finding.when:
        return f"settled_{finding.status or 'accepted'}"
    if finding.beside:
        return f"{finding.rules[0].replace('.', '_')}_beside_others_returns_{finding.status}"
    rules = [spec.rule[rule] for rule in finding.rules]
    first = rules[0]
    subject = first.id if len(rules) == 1 or first.key is None else f"{first.key}s"
    return f"{subject.replace('.', '_')}_{verb}"


def text(
    lessons: Sequence[Lesson], statuses: Statuses, release: str, before: ErrataForm | None = None
) -> str:
    """The errata of one operator, by the lessons of all its pages. What people wrote stays: how far
    the file ``before`` reaches, and the note and the acceptance of each entry of it that says the
    same.
    """
    several = len(lessons) > 1
    parts = list(entries(lessons))
    file = " ".join(name.rsplit("/", 1)[-1] for name in statuses.files)
    evidence = f"file: {_quoted(file)}, digest: {_quoted(statuses.digest[:DIGEST])}"
    before = ErrataForm() if before is None else before
    known = {_claim(form): form for of in (before.stages, before.tolerates) for form in of.values()}
    lines = [
        f"# What release {release} returned: written by opgen learn. A person may add accepted:"
        " NAME, DATE to an entry.",
        f"api: {lessons[0].returned.spec.api}",
        f"release: {_quoted(release)}",
        *([f"until: {before.until}"] if before.until != UNTIL[0] else []),
        "otherwise: page",
    ]
    for section in ("early", "late"):
        if moved := dict.fromkeys(rule for each in lessons for rule in getattr(each, section)):
            lines.append(f"{section}: [{', '.join(moved)}]")
    for section in ("stages", "tolerates"):
        own = [part for part in parts if (section == "tolerates") == _tolerated(part.finding)]
        lines += ["", f"{section}:"] if own else []
        for part in own:
            lines += _entry(part, evidence, known, several)
    return "\n".join(lines) + "\n"


def _claim(form: EntryForm) -> tuple[object, ...]:
    """What an entry says, whatever its id, its evidence and the order of its rules."""
    rules, beside = (frozenset(getattr(form, key, ())) for key in ("rules", "beside"))
    return form.when or "", rules, beside, *getattr(form, "code", ())


def _tolerated(finding: Finding) -> bool:
    return finding.status == 0


def _entry(
    part: Entry, evidence: str, known: Mapping[tuple[object, ...], EntryForm], several: bool
) -> Iterator[str]:
    finding = part.finding
    when = [finding.when] if finding.when else []
    if several:
        when.append(f"product in ({', '.join(map(repr, part.page.judges))},)")
    yield f"  {part.id}:"
    if when:
        yield f"    when: {_quoted(' and '.join(when))}"
    if finding.rules:
        yield f"    rules: [{', '.join(finding.rules)}]"
    if finding.beside:
        yield f"    beside: [{', '.join(finding.beside)}]"
    if not _tolerated(finding):
        yield f"    code: {code(finding.status)}"
    yield "    basis: observed"
    n, m = len(finding.calls), max(finding.asked, len(finding.calls))
    yield f"    evidence: {{{evidence}, n: {n}, m: {m}}}"
    claim = (" and ".join(when), frozenset(finding.rules), frozenset(finding.beside))
    before = known.get(claim if _tolerated(finding) else (*claim, code(finding.status)))
    for key in ("note", "accepted"):
        if said := getattr(before, key, ""):
            yield f"    {key}: {_quoted(said)}"


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
