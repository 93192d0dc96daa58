"""What a back-test found, as tables of text and as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from opgen.oracle.backtest import KINDS, BacktestReport, Count, JudgedRun
from opgen.report.terminal import visible


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


def as_text(report: BacktestReport, everything: bool = False) -> str:
    """For people: agreement by operator, the first disagreements and the first differences without
    an explanation, and a line of totals.

    ``everything``: agreement by product, stage of the library and rule, too, and all of the others.
    """
    lines = [f"release {', '.join(report.releases) or 'none'}"]
    for firm in (True, False):
        if counts := report.operators(firm):
            lines += ["", _heading("firm rows" if firm else "rows that are not firm", 42)]
        for api, count in sorted(counts.items()):
            lines.append(_line(api, count))
            if everything:
                products = _named(report, firm, "product", api)
                lines += [_line(f"  {name}", count) for _, name, count in products]
    if everything:
        lines += _by_stage_and_rule(report)
    lines += ["", f"disagreements: {len(report.wrong)}", *_listed(report.wrong, everything)]
    entries = sum(report.explained.values())
    lines.append(
        f"page and library differ and no entry says why: {len(report.unexplained)} (entries"
        f" behind the others: {entries})"
    )
    lines += _listed(report.unexplained, everything)
    of_firm = report.operators(True).values()
    rows, agree, page = (
        sum(getattr(count, name) for count in of_firm) for name in ("rows", "library", "page")
    )
    lines.append(f"of {rows} firm rows the library agrees on {agree}, the page on {page}")
    return "\n".join(lines) + "\n"


def _listed(runs: Sequence[JudgedRun], everything: bool) -> list[str]:
    """Runs on a line each: the first few, or all."""
    shown = runs if everything else runs[:FEW]
    more = len(runs) - len(shown)
    return [*map(_spelled, shown), *([f"  ... and {more} more: --all lists them"] if more else [])]


def _by_stage_and_rule(report: BacktestReport) -> list[str]:
    lines: list[str] = []
    for kind, title in (
        ("stage", "stages of the library that answered"),
        ("rule", "broken rules of the page"),
    ):
        lines += ["", _heading(title, 60)]
        lines += [
            _line(f"  {api} {name}{'' if firm else ' (not firm)'}", count, 60)
            for firm in (True, False)
            for api, name, count in _named(report, firm, kind)
        ]
    return lines


def _named(
    report: BacktestReport, firm: bool, kind: str, api: str = ""
) -> list[tuple[str, str, Count]]:
    """(operator, name, count) of one kind, of all operators or of one."""
    return sorted(
        (key[2], key[3], count)
        for key, count in report.counts.items()
        if key[:2] == (firm, kind) and api in ("", key[2])
    )


def _heading(title: str, width: int) -> str:
    return f"{title:<{width}}{'rows':>7}{'library':>9}{'page':>9}{'two codes':>11}"


def _line(name: str, count: Count, width: int = 42) -> str:
    page = 100.0 * count.page / count.rows if count.rows else 100.0
    return f"{name:<{width}}{count.rows:>7}{count.percent:>8.2f}%{page:>8.2f}%{count.two:>11}"


def _spelled(run: JudgedRun) -> str:
    side = " or ".join(map(str, run.library)) or "nothing known"
    breaks = "; ".join(run.breaks) or "nothing"
    changed = f"; changed: {', '.join(run.changed)}" if run.changed else ""
    return "  " + visible(
        f"{run.id} ({run.api}, {run.product}{'' if run.firm else ', not firm'}): was"
        f" {run.status}; library {side} by {run.stage}; page"
        f" {' or '.join(map(str, run.page))}; breaks {breaks}{changed}"
    )
