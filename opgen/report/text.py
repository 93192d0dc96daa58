"""A report for a terminal: totals, where the bad verdicts are, the worst cases, what they share. It
fits a screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from opgen.comparison.diff_report import DiffReport
from opgen.comparison.statuses import (
    BAD,
    CRASHED,
    FAILED,
    KNOWN,
    LENIENT,
    MISSING,
    PASSED,
    STRICT,
    VERDICTS,
)
from opgen.model import Verdict
from opgen.report.terminal import counted, literal, visible

SHOWN = 5
"""Bad cases that are told, unless all are asked for."""
GROUPS = 3
FINDINGS = 6
"""Groups of each kind, and findings, that are told."""
_SHORT = {KNOWN: "known"}
STYLES = {**dict.fromkeys(BAD, "bold red"), LENIENT: "yellow", KNOWN: "yellow", PASSED: "green"}


def render(
    report: DiffReport, console: Console, strict: bool = False, shown: int | None = SHOWN
) -> None:
    """Print a report; ``shown`` bad cases at most, all of them where it is None. Sentences stay
    whole where no terminal has an edge.
    """
    for part in _parts(report, strict, shown):
        if (
            not console.is_terminal
            and isinstance(part, Padding)
            and isinstance(part.renderable, Text)
        ):
            part = Text(" " * part.left) + part.renderable
        console.print(part, soft_wrap=isinstance(part, Text) and not console.is_terminal)


def _parts(report: DiffReport, strict: bool, shown: int | None) -> Iterator[Any]:
    yield _table(report)
    yield Text()
    if report.criteria:
        yield _criteria(report)
        yield Text()
    bad = report.bad(strict)
    if bad:
        yield from _bad(bad, shown)
    yield from _waived(report, shown)
    yield from _groups(report)
    for finding in report.shared[:FINDINGS]:
        yield Text.from_markup(f"[bold]shared [/] {literal(finding)}")
    for note in report.notes:
        yield Text.from_markup(f"note    {literal(note)}")
    yield Text.from_markup(_last(report, bad))


def _waived(report: DiffReport, shown: int | None) -> Iterator[Text]:
    """What is accepted, and why."""
    for case, reason in list(report.waived.items())[:shown]:
        yield Text.from_markup(f"waived  {literal(case)}: {literal(reason)}")
    if shown is not None and len(report.waived) > shown:
        yield Text(
            f"        ... and {len(report.waived) - shown} more: --all lists them", style="dim"
        )


def _groups(report: DiffReport) -> Iterator[Text]:
    """The largest groups of cases with a cause in common: of failures, of known deviations, of
    lenient cases.
    """
    for name, verdicts in (("shared", BAD), ("lenient", {LENIENT}), ("known", {KNOWN})):
        for group in [one for one in report.groups if one.verdict in verdicts][:GROUPS]:
            yield Text.from_markup(
                f"[{'bold' if verdicts is BAD else 'yellow'}]{name:7}[/] {literal(group)}"
            )


def _last(report: DiffReport, bad: list[Verdict]) -> str:
    totals = ", ".join(
        f"[{STYLES.get(name, '') or 'dim'}]{count} {name}[/]"
        for name, count in report.totals.items()
    )
    waived = f"; {len(report.waived)} waived" if report.waived else ""
    return (
        f"{'[bold red]FAILED[/]' if bad else '[bold green]OK[/]'}  {counted(len(report), 'case')}:"
        f" {totals or 'none'}{waived}"
    )


def _table(report: DiffReport) -> Table:
    """Verdicts by operator, and by dtype where numbers were compared."""
    names = [name for name in VERDICTS if name in report.totals]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("operator", no_wrap=True)
    table.add_column("dtype", no_wrap=True)
    for name in (*names, "error/bound"):
        table.add_column(_SHORT.get(name, name), justify="right")
    largest: dict[tuple[str, str], float] = {}
    for verdict in report:
        for one in verdict.metrics.get("outputs", {}).values():
            key = (str(verdict.metrics["op"]), str(verdict.metrics["dtype"]))
            largest[key] = max(largest.get(key, 0.0), one["ratio"])
    for (op, dtype), counts in report.by("op", "dtype").items():
        cells = [
            (
                Text(str(counts[name]), style=STYLES.get(name, ""))
                if counts[name]
                else Text("·", style="dim")
            )
            for name in names
        ]
        ratio = f"{largest[op, dtype]:.3g}" if (op, dtype) in largest else ""
        table.add_row(op.removeprefix("aclnn"), dtype or "(status)", *cells, ratio)
    return table


def _criteria(report: DiffReport) -> Text:
    """How many outputs meet each criterion."""
    parts = [
        Text.assemble(
            name,
            " ",
            (
                f"{met}/{asked}",
                "green" if met == asked else "bold red" if name == "bound" else "yellow",
            ),
        )
        for name, (met, asked) in report.criteria.items()
    ]
    return Text("outputs that meet  ", style="bold") + Text(", ").join(parts)


def _bad(bad: list[Verdict], shown: int | None) -> Iterator[Any]:
    """The worst first: crashes, then by error / bound; no two in a row of one kind while there are
    others.
    """
    for verdict in varied(bad)[:shown]:
        style = STYLES.get(verdict.verdict, "")
        yield Text.from_markup(
            f"[{style}]{verdict.verdict}[/]  {literal(verdict.case)}", overflow="fold"
        )
        yield Padding(Text(visible(verdict.detail), overflow="fold"), (0, 0, 0, 8))
    if shown is not None and len(bad) > shown:
        yield Text(f"        ... and {len(bad) - shown} more: --all lists them", style="dim")
    yield Text()


def varied(bad: list[Verdict]) -> list[Verdict]:
    """Bad verdicts so that the first few show different things: one of each operator, verdict and
    first word, round after round.
    """
    kinds: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in sorted(bad, key=_badness):
        status = verdict.metrics.get("status")
        kinds.setdefault(
            (
                verdict.verdict,
                str(verdict.metrics.get("op")),
                verdict.detail.split(":")[0] if status == 0 else str(status),
            ),
            [],
        ).append(verdict)
    rounds = [
        (depth, at, verdict)
        for at, mine in enumerate(kinds.values())
        for depth, verdict in enumerate(mine)
    ]
    return [verdict for _, _, verdict in sorted(rounds, key=lambda one: one[:2])]


def _badness(verdict: Verdict) -> tuple[int, float]:
    order = {name: at for at, name in enumerate((CRASHED, FAILED, MISSING, *sorted(STRICT - BAD)))}
    ratio = max((one["ratio"] for one in verdict.metrics.get("outputs", {}).values()), default=0.0)
    return order.get(verdict.verdict, 9), -ratio
