"""A report for a terminal: totals, where the bad verdicts are, the worst cases, what they share. It
fits a screen.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, zip_longest
from math import isfinite

from rich.console import Console, RenderableType
from rich.text import Text

from opgen.comparison.diff_report import DiffReport
from opgen.comparison.groups import largest_ratio
from opgen.comparison.statuses import (
    BAD,
    CRASHED,
    KNOWN,
    LENIENT,
    PASSED,
    UNUSUAL,
    VERDICTS,
)
from opgen.model import Verdict
from opgen.report.layout import Paragraph, TextTable, show
from opgen.report.terminal import counted, visible

INDENT = 8
"""Columns of the word that begins a line."""
SHOWN = 5
"""Bad cases that are told, unless all are asked for."""
GROUPS = 3
FINDINGS = 6
"""Groups of each kind, and findings, that are told."""
_SHORT = {KNOWN: "known"}
ODD = {"lenient": LENIENT, "known": KNOWN, "unusual": UNUSUAL}
"""What makes no comparison fail but a strict one, by the word that begins its lines."""
STYLES = {
    **dict.fromkeys(BAD, "bold red"),
    **dict.fromkeys(ODD.values(), "yellow"),
    PASSED: "green",
}


def render(
    report: DiffReport, console: Console, strict: bool = False, shown: int | None = SHOWN
) -> None:
    """Print a report; ``shown`` bad cases at most, all of them where it is None."""
    show(console, *_parts(report, strict, shown))


def _parts(report: DiffReport, strict: bool, shown: int | None) -> Iterator[RenderableType]:
    yield from (Paragraph(why, Text("not run", "yellow"), INDENT + 1) for why in report.not_run)
    yield _table(report)
    yield Text()
    if report.criteria:
        yield _criteria(report)
        yield Text()
    bad = report.bad(strict)
    if bad:
        yield from _bad(bad, shown)
        yield _next(report, bad)
        yield Text()
    yield from _waived(report, shown)
    yield from _groups(report)
    shared = report.shared[:FINDINGS]
    yield from (Paragraph(str(trait), Text("shared", "bold"), INDENT) for trait in shared)
    yield from (Paragraph(note, "note", INDENT) for note in report.notes)
    yield Paragraph(Text.from_markup(_last(report, strict), emoji=False))


def _waived(report: DiffReport, shown: int | None) -> Iterator[RenderableType]:
    """What is accepted, and why."""
    for case, reason in list(report.waived.items())[:shown]:
        yield Paragraph(f"{case}: {reason}", "waived", INDENT)
    yield from _more(len(report.waived), shown)


def _more(count: int, shown: int | None) -> Iterator[RenderableType]:
    if shown is not None and count > shown:
        yield Paragraph(
            Text(f"... and {count - shown} more: --all lists them", "dim"), indent=INDENT
        )


def _groups(report: DiffReport) -> Iterator[RenderableType]:
    """The largest groups of cases with a cause in common: of failures, and of each kind that is
    odd.
    """
    for name, verdicts in [("shared", BAD), *((name, {verdict}) for name, verdict in ODD.items())]:
        style = "bold" if verdicts is BAD else "yellow"
        for group in [group for group in report.groups if group.verdict in verdicts][:GROUPS]:
            yield Paragraph(str(group), Text(name, style), INDENT)


def _last(report: DiffReport, strict: bool) -> str:
    totals = ", ".join(
        f"[{STYLES.get(name, '') or 'dim'}]{count} {name}[/]"
        for name, count in report.totals.items()
    )
    waived = f"; {len(report.waived)} waived" if report.waived else ""
    unproved = f"; [bold red]{report.unproved}[/]" if report.unproved else ""
    bad = len(report.bad(strict))
    strictly = f"; {counted(bad, 'failure')} with --strict" if bad > len(report.bad()) else ""
    word = "[bold green]OK[/]" if report.green(strict) else "[bold red]FAILED[/]"
    return f"{word}  {counted(len(report), 'case')}: {totals or 'none'}{strictly}{waived}{unproved}"


def _table(report: DiffReport) -> TextTable:
    """Verdicts by operator, and by dtype where numbers were compared."""
    names = [name for name in VERDICTS if name in report.totals]
    outputs: dict[tuple[object, object], list[dict[str, float]]] = defaultdict(list)
    for verdict in report:
        metrics = verdict.metrics
        outputs[metrics.get("op"), metrics.get("dtype")] += metrics.get("outputs", {}).values()
    rows = []
    for (op, dtype), counts in report.by("op", "dtype").items():
        cells = [
            Text(str(counts[name] or "·"), style=STYLES.get(name, "") if counts[name] else "dim")
            for name in names
        ]
        far = _far(outputs[op, dtype])
        rows.append((op.removeprefix("aclnn"), dtype or "(status)", *cells, far))
    heads = (*(_SHORT.get(name, name) for name in names), "error / bound")
    return TextTable("operator", "dtype", *heads, rows=rows, right=heads)


def _far(outputs: list[dict[str, float]]) -> str:
    """The largest error / bound of some outputs, or why it is infinite."""
    ratio = max((output["ratio"] for output in outputs), default=None)
    if ratio is None or isfinite(ratio):
        return "" if ratio is None else f"{ratio:.3g}"
    endless = [output["error"] for output in outputs if not isfinite(output["ratio"])]
    return "bound 0" if any(map(isfinite, endless)) else "not finite"


def _criteria(report: DiffReport) -> Paragraph:
    """How many outputs meet the bound, which comes first, and each published standard."""
    parts = []
    for name, (met, asked) in report.criteria.items():
        style = "green" if met == asked else "bold red" if name == "bound" else "yellow"
        parts.append(Text.assemble(name, " ", (f"{met}/{asked}", style)))
    text = Text.assemble("the ", parts[0], "; published standards: ", Text(", ").join(parts[1:]))
    return Paragraph(text, Text("outputs that meet", "bold"), 19)


def _bad(bad: list[Verdict], shown: int | None) -> Iterator[RenderableType]:
    """The worst first: crashes, then by error / bound; no two in a row of one kind while there are
    others.
    """
    for verdict in varied(bad)[:shown]:
        label = Text(verdict.verdict, STYLES.get(verdict.verdict, ""))
        yield Paragraph(verdict.case, label, len(label) + 2)
        yield Paragraph(verdict.detail, indent=INDENT)
    yield from _more(len(bad), shown)


def _next(report: DiffReport, bad: list[Verdict]) -> Paragraph:
    """The command that shows a case and its answer side by side."""
    bundle, results = (str(report.origin.get(name, name)) for name in ("bundle", "results"))
    words = ("opgen", "explain", "--bundle", bundle, "--results", results, varied(bad)[0].case)
    return Paragraph(Text(visible(f"details: {shlex.join(words)}"), "dim"), indent=INDENT)


def varied(bad: list[Verdict]) -> list[Verdict]:
    """Bad verdicts so that the first few show different things: one of each operator, verdict and
    first word, round after round.
    """
    kinds: dict[tuple[str, ...], list[Verdict]] = defaultdict(list)
    order = (CRASHED, *VERDICTS)
    for verdict in sorted(bad, key=lambda v: (order.index(v.verdict), -(largest_ratio(v) or 0.0))):
        status = verdict.metrics.get("status")
        first = verdict.detail.split(":")[0] if status == 0 else str(status)
        kinds[verdict.verdict, str(verdict.metrics.get("op")), first].append(verdict)
    rounds = zip_longest(*kinds.values())
    return [verdict for verdict in chain.from_iterable(rounds) if verdict is not None]
