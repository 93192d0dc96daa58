"""A report for a terminal: totals, where the bad verdicts are, the worst cases, what they share. It
fits a screen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, zip_longest

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from opgen.comparison.diff_report import DiffReport, largest_ratio
from opgen.comparison.statuses import (
    BAD,
    CRASHED,
    KNOWN,
    LENIENT,
    PASSED,
    UNPROVED,
    UNUSUAL,
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
    """Print a report; ``shown`` bad cases at most, all of them where it is None. Sentences stay
    whole where no terminal has an edge.
    """
    for part in _parts(report, strict, shown):
        if console.is_terminal or isinstance(part, Table):
            console.print(part)
        elif isinstance(part, Padding):
            console.print(Text(" " * part.left) + part.renderable, soft_wrap=True)
        else:
            console.print(part, soft_wrap=True)


def _parts(report: DiffReport, strict: bool, shown: int | None) -> Iterator[RenderableType]:
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
    yield Text.from_markup(_last(report, strict))


def _waived(report: DiffReport, shown: int | None) -> Iterator[Text]:
    """What is accepted, and why."""
    for case, reason in list(report.waived.items())[:shown]:
        yield Text.from_markup(f"waived  {literal(case)}: {literal(reason)}")
    if shown is not None and len(report.waived) > shown:
        yield Text(
            f"        ... and {len(report.waived) - shown} more: --all lists them", style="dim"
        )


def _groups(report: DiffReport) -> Iterator[Text]:
    """The largest groups of cases with a cause in common: of failures, and of each kind that is
    odd.
    """
    for name, verdicts in [("shared", BAD), *((name, {verdict}) for name, verdict in ODD.items())]:
        style = "bold" if verdicts is BAD else "yellow"
        for group in [group for group in report.groups if group.verdict in verdicts][:GROUPS]:
            yield Text.from_markup(f"[{style}]{name:7}[/] {literal(group)}")


def _last(report: DiffReport, strict: bool) -> str:
    totals = ", ".join(
        f"[{STYLES.get(name, '') or 'dim'}]{count} {name}[/]"
        for name, count in report.totals.items()
    )
    waived = f"; {len(report.waived)} waived" if report.waived else ""
    unproved = "" if report.proved else f"; [bold red]{UNPROVED}[/]"
    word = "[bold green]OK[/]" if report.green(strict) else "[bold red]FAILED[/]"
    return f"{word}  {counted(len(report), 'case')}: {totals or 'none'}{waived}{unproved}"


def _table(report: DiffReport) -> Table:
    """Verdicts by operator, and by dtype where numbers were compared."""
    names = [name for name in VERDICTS if name in report.totals]
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("operator", no_wrap=True)
    table.add_column("dtype", no_wrap=True)
    for name in (*names, "error / bound"):
        table.add_column(_SHORT.get(name, name), justify="right", overflow="fold")
    largest: dict[tuple[str, str], float] = {}
    for verdict in report:
        ratio = largest_ratio(verdict)
        if ratio is not None:
            key = (str(verdict.metrics["op"]), str(verdict.metrics["dtype"]))
            largest[key] = max(largest.get(key, 0.0), ratio)
    for (op, dtype), counts in report.by("op", "dtype").items():
        cells = [
            Text(str(counts[name] or "·"), style=STYLES.get(name, "") if counts[name] else "dim")
            for name in names
        ]
        far = f"{largest[op, dtype]:.3g}" if (op, dtype) in largest else ""
        table.add_row(op.removeprefix("aclnn"), dtype or "(status)", *cells, far)
    return table


def _criteria(report: DiffReport) -> Text:
    """How many outputs meet each criterion."""
    parts = []
    for name, (met, asked) in report.criteria.items():
        style = "green" if met == asked else "bold red" if name == "bound" else "yellow"
        parts.append(Text.assemble(name, " ", (f"{met}/{asked}", style)))
    return Text("outputs that meet  ", style="bold") + Text(", ").join(parts)


def _bad(bad: list[Verdict], shown: int | None) -> Iterator[RenderableType]:
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
    kinds: dict[tuple[str, ...], list[Verdict]] = defaultdict(list)
    order = (CRASHED, *VERDICTS)
    worst_first = sorted(bad, key=lambda v: (order.index(v.verdict), -(largest_ratio(v) or 0.0)))
    for verdict in worst_first:
        status = verdict.metrics.get("status")
        first = verdict.detail.split(":")[0] if status == 0 else str(status)
        kinds[verdict.verdict, str(verdict.metrics.get("op")), first].append(verdict)
    rounds = zip_longest(*kinds.values())
    return [verdict for verdict in chain.from_iterable(rounds) if verdict is not None]
