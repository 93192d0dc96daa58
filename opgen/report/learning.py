"""What was learnt from statuses, as tables and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from rich.console import Console, RenderableType

from opgen.learning.agreement import Agreement, Halves
from opgen.learning.lesson import Finding, Lesson, RuleOutcome
from opgen.learning.pairs import pair
from opgen.learning.statuses import Statuses, code
from opgen.report.backtest import passed_over
from opgen.report.layout import Paragraph, TextTable, show

FEW = 5
"""Calls that are named where nobody asks for all."""


def as_data(statuses: Statuses, lessons: Sequence[Lesson]) -> dict[str, object]:
    """Everything, as data for JSON."""
    return {
        "files": list(statuses.files),
        "digest": statuses.digest,
        "release": statuses.release or None,
        "calls": len(statuses),
        "passed_over": [
            {"op": op, "page": list(page), "call": list(call), "calls": n}
            for (op, page, call), n in sorted(statuses.foreign.items())
        ],
        "runtime": statuses.runtime,
        "contradictory": statuses.contradictory,
        "operators": [_lesson(lesson) for lesson in lessons],
    }


def _lesson(lesson: Lesson) -> dict[str, object]:
    return {
        "op": lesson.returned.spec.api,
        "page": lesson.returned.spec.name,
        "calls": len(lesson.returned),
        "page_admits": int(lesson.returned.admitted.sum()),
        "rules": [
            {
                "rule": each.rule.id,
                "at": list(each.rule.at),
                "page": each.page,
                "returned": {str(code(s)): n for s, n in sorted(each.returned.items())},
                "became": each.became,
            }
            for each in lesson.outcomes
        ],
        "findings": [_finding(lesson, each) for each in lesson.findings],
        "early": list(lesson.early),
        "late": list(lesson.late),
    }


def _finding(lesson: Lesson, finding: Finding) -> dict[str, object]:
    ids = lesson.returned.ids
    nearest = pair(lesson.returned, finding) if finding.hint else None
    return {
        "rules": list(finding.rules),
        "when": finding.when or None,
        "returned": code(finding.status),
        "n": len(finding.calls),
        "of": finding.asked,
        "beside": list(finding.beside),
        "differs": finding.differs,
        "hint": finding.hint,
        "calls": [ids[call] for call in finding.calls],
        "against": [ids[call] for call in finding.against],
        "pair": nearest and [ids[call] for call in nearest],
    }


def render(
    statuses: Statuses, lessons: Sequence[Lesson], console: Console, everything: bool = False
) -> None:
    """For people: what became of the rules of each page, and of the calls that break none.

    ``everything``: the rules that were confirmed or not seen, too, and all calls.
    """
    show(console, *_parts(statuses, lessons, everything))


def _parts(
    statuses: Statuses, lessons: Sequence[Lesson], everything: bool
) -> Iterator[RenderableType]:
    yield from _head(statuses)
    for lesson in lessons:
        spec, count = lesson.returned.spec, Counter(each.became for each in lesson.outcomes)
        shown = [
            each
            for each in lesson.outcomes
            if everything or each.became not in ("confirmed", "not seen")
        ]
        yield ""
        yield Paragraph(
            f"{spec.api} ({spec.file}): {len(lesson.returned)} calls, the page admits the status of"
            f" {int(lesson.returned.admitted.sum())}; {len(spec.rules)} rules: "
            + ", ".join(f"{n} {became}" for became, n in count.most_common())
        )
        if shown:
            heads = ("rule", "line", "page", "returned", "became")
            yield TextTable(*heads, rows=map(_row, shown), right=("line",))
        yield from _findings(lesson, everything)
        yield from (
            Paragraph(f"checked {when} all other rules: {', '.join(moved)}", indent=2)
            for when, moved in (("before", lesson.early), ("after", lesson.late))
            if moved
        )


def _head(statuses: Statuses) -> Iterator[RenderableType]:
    yield from passed_over(statuses.foreign)
    if statuses.runtime:
        yield Paragraph(f"teach nothing: {statuses.runtime} calls with a status of no check")
    if statuses.contradictory:
        named = ", ".join(statuses.contradictory[:FEW])
        n = len(statuses.contradictory)
        yield Paragraph(f"left out: {n} calls that returned two statuses, such as {named}")


def _row(outcome: RuleOutcome) -> tuple[object, ...]:
    total = outcome.returned.total()
    returned = [f"{code(s)}: {n} of {total}" for s, n in outcome.returned.most_common()]
    rule = outcome.rule
    return rule.id, rule.at[0] if rule.at else "", outcome.page, returned, outcome.became


def _findings(lesson: Lesson, everything: bool) -> Iterator[RenderableType]:
    for title, findings in (("", lesson.entries), ("hint: ", lesson.hints)):
        yield from (
            Paragraph(f"{title}{told(finding)}{_named(lesson, finding)}", indent=2)
            for finding in findings
            if finding.differs or everything
        )


def told(finding: Finding) -> str:
    """A finding as a sentence.

    >>> told(Finding(("padding.min",), "product == 'ascend950'", 0, (1, 2, 3), 4, True))
    "padding.min is not enforced when product == 'ascend950': 3 of 4 calls"
    """
    what = {0: "is not enforced", -1: "ends the host"}.get(
        finding.status, f"is answered with {finding.status}"
    )
    of = f"{len(finding.calls)} of {finding.asked} calls"
    if not finding.rules:
        what = "crash" if finding.status < 0 else f"refused with {finding.status}"
        return f"calls that break nothing: {what}{_when(finding)}: {of}"
    return f"{', '.join(finding.rules)} {what}{_when(finding)}: {of}"


def _when(finding: Finding) -> str:
    beside = f" beside {', '.join(finding.beside)}" if finding.beside else ""
    return beside + (f" when {finding.when}" if finding.when else "")


def _named(lesson: Lesson, finding: Finding) -> str:
    """Of a hint, a call that shows it, and one that is almost the same and returned another
    status.
    """
    nearest = pair(lesson.returned, finding) if finding.hint else None
    if nearest is None:
        return ""
    shows, other = (lesson.returned.ids[call] for call in nearest)
    return f"; {shows}, against it {other}"


def render_halves(experiments: Sequence[Halves], console: Console) -> None:
    """For people: how well what was learnt on one half answers for either half, per experiment."""
    heads = ("half", "calls", "library", "page", "gone", "median", "lowest")
    rows = [
        _half(name, agreements)
        for each in experiments
        for name, agreements in (("learnt", each.seen), ("other", each.unseen))
    ]
    show(console, TextTable(*heads, rows=rows, right=heads[1:]))
    show(
        console,
        Paragraph(
            "library, page: calls on which they agree with the status; gone: disagreements of the"
            " page that the library side mends; median, lowest: library by operator"
        ),
    )


def _half(name: str, agreements: Mapping[str, Agreement]) -> tuple[object, ...]:
    total = sum(agreements.values(), Agreement())
    each = sorted(each.percent for each in agreements.values()) or [100.0]
    return (
        name,
        total.calls,
        *(f"{value:.2f} %" for value in (total.percent, total.page_percent, total.gone)),
        *(f"{value:.2f} %" for value in (median(each), each[0])),
    )
