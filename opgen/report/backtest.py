"""What a back-test found, as tables and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console, RenderableType

from opgen.oracle.backtest import KINDS, BacktestReport, Count, JudgedRun
from opgen.report.layout import Paragraph, TextTable, show


def as_data(report: BacktestReport) -> dict[str, object]:
    """Everything, as data for JSON."""
    operators: dict[str, Any] = {}
    for (firm, kind, api, name), count in sorted(
        report.counts.items(), key=lambda item: (item[0][2], KINDS.index(item[0][1]), item[0][3])
    ):
        side = operators.setdefault(api, {}).setdefault("firm" if firm else "not_firm", {})
        entry = {
            "rows": count.rows,
            "agree": count.library,
            "percent": round(count.percent, 2),
            "page_agree": count.page,
            "two_codes": count.two,
        }
        if kind == "operator":
            side.update(entry)
        else:
            side.setdefault(kind + "s", {})[name] = entry
    return {
        "releases": list(report.releases),
        "operators": operators,
        "disagreements": [_disagreement(wrong) for wrong in report.wrong],
        "differences": {
            "explained": [
                {"op": api, "entry": entry, "rows": rows}
                for (api, entry), rows in sorted(report.explained.items())
            ],
            "unexplained": [_disagreement(difference) for difference in report.unexplained],
        },
    }


def _disagreement(run: JudgedRun) -> dict[str, object]:
    facts = {"op" if key == "api" else key: fact for key, fact in asdict(run).items()}
    return {key: list(fact) if isinstance(fact, tuple) else fact for key, fact in facts.items()}


FEW = 5
"""Disagreements that are listed where nobody asks for all."""


def render(report: BacktestReport, console: Console, everything: bool = False) -> None:
    """For people: the operators with disagreements, the first of these and of the differences
    without an explanation, and a line of totals.

    ``everything``: agreement by operator, product, stage of the library and rule, and all of the
    others.
    """
    show(console, *_parts(report, everything))


def _parts(report: BacktestReport, everything: bool) -> Iterator[RenderableType]:
    yield f"release {', '.join(report.releases) or 'none'}"
    yield from passed_over(report.foreign)
    for firm in (True, False):
        rows = []
        for api, count in sorted(report.operators(firm).items()):
            if everything or count.library < count.rows:
                rows.append(_row(api, count))
            if everything:
                products = _named(report, firm, "product", api)
                rows += [_row(f"  {name}", count) for _, name, count in products]
        yield from _table("firm rows" if firm else "rows that are not firm", rows)
    if everything:
        for kind, title in (
            ("stage", "stages of the library that answered"),
            ("rule", "broken rules of the page"),
        ):
            named = [
                _row(f"{api} {name}{'' if firm else ' (not firm)'}", count)
                for firm in (True, False)
                for api, name, count in _named(report, firm, kind)
            ]
            yield from _table(title, named)
    yield from ("", f"disagreements: {len(report.wrong)}", *_listed(report.wrong, everything))
    entries = sum(report.explained.values())
    yield Paragraph(
        f"differences of page and library that errata explain: {entries};"
        f" calls with another difference: {len(report.unexplained)}"
    )
    yield from _listed(report.unexplained, everything)
    of_firm = report.operators(True).values()
    total, agree, page = (
        sum(getattr(count, name) for count in of_firm) for name in ("rows", "library", "page")
    )
    yield Paragraph(
        f"of {total} firm rows, the library agrees with {agree}, and the page with {page}"
    )


def passed_over(
    foreign: Mapping[tuple[str, tuple[str, ...], tuple[str, ...]], int],
) -> Iterator[RenderableType]:
    """A line on calls of operators without a spec, and one for each operator whose calls have the
    parameters of another edition.
    """
    strange = {op: n for (op, _, own), n in foreign.items() if not own}
    if strange:
        calls = sum(strange.values())
        yield Paragraph(f"passed over: {calls} calls of {len(strange)} operators without a spec")
    for (op, page, own), n in sorted(foreign.items()):
        if own:
            names = f"the page says {', '.join(page)}; " if page else ""
            yield Paragraph(
                f"passed over: {n} calls of {op} with the parameters of another edition: {names}the"
                f" calls say {', '.join(own)}"
            )


def _table(title: str, rows: Sequence[Sequence[object]]) -> Iterator[RenderableType]:
    """Agreement, if there is any to show, below a blank line."""
    heads = ("rows", "library", "page", "two codes")
    if rows:
        yield from ("", TextTable(title, *heads, rows=rows, right=heads))


def _row(name: str, count: Count) -> tuple[object, ...]:
    page = 100.0 * count.page / count.rows if count.rows else 100.0
    return name, count.rows, f"{count.percent:.2f} %", f"{page:.2f} %", count.two


def _listed(runs: Sequence[JudgedRun], everything: bool) -> Iterator[RenderableType]:
    """The first few runs, or all."""
    shown = runs if everything else runs[:FEW]
    for run in shown:
        yield Paragraph(_spelled(run), indent=2)
    if len(runs) > len(shown):
        yield Paragraph(f"... and {len(runs) - len(shown)} more: --all lists them", indent=2)


def _named(
    report: BacktestReport, firm: bool, kind: str, api: str = ""
) -> list[tuple[str, str, Count]]:
    """(operator, name, count) of one kind, of all operators or of one."""
    return sorted(
        (key[2], key[3], count)
        for key, count in report.counts.items()
        if key[:2] == (firm, kind) and api in ("", key[2])
    )


def _spelled(run: JudgedRun) -> str:
    side = " or ".join(map(str, run.library)) or "nothing known"
    breaks = "; ".join(run.breaks) or "nothing"
    changed = f"; changed: {', '.join(run.changed)}" if run.changed else ""
    return (
        f"{run.id} ({run.api}, {run.product}{'' if run.firm else ', not firm'}): was"
        f" {run.status}; library {side} by {run.stage}; page"
        f" {' or '.join(map(str, run.page))}; breaks {breaks}{changed}"
    )
