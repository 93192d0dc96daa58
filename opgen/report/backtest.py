"""What a back-test found, as tables of text and as data."""

from __future__ import annotations

from typing import Any

from opgen.oracle.backtest import KINDS, BacktestReport, Count, JudgedRun


def as_data(report: BacktestReport) -> dict[str, Any]:
    """Everything, as data for JSON."""
    operators: dict[str, Any] = {}
    for (firm, kind, api, name), count in sorted(
        report.counts.items(), key=lambda item: (item[0][2], KINDS.index(item[0][1]), item[0][3])
    ):
        side = operators.setdefault(api, {}).setdefault("firm" if firm else "not_firm", {})
        agree, percent = count.library, round(count.percent, 2)
        entry = {
            "rows": count.rows,
            "agree": agree,
            "percent": percent,
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
        "disagreements": [_disagreement(one) for one in report.wrong],
        "differences": {
            "explained": [
                {"op": api, "entry": entry, "rows": rows}
                for (api, entry), rows in sorted(report.explained.items())
            ],
            "unexplained": [_disagreement(one) for one in report.unexplained],
        },
    }


def _disagreement(run: JudgedRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "op": run.api,
        "product": run.product,
        "firm": run.firm,
        "status": run.status,
        "stage": run.stage,
        "library": list(run.library),
        "page": list(run.page),
        "breaks": list(run.breaks),
        "changed": list(run.changed),
    }


def as_text(report: BacktestReport) -> str:
    """For people: a table, every disagreement, every difference without an explanation."""
    lines = [f"release {', '.join(report.releases) or 'none'}"]
    for firm in (True, False):
        counted = report.operators(firm)
        if not counted:
            continue
        lines += [
            "",
            f"{'firm rows' if firm else 'rows that are not firm':<42}{'rows':>7}"
            f"{'library':>9}{'page':>9}{'two codes':>11}",
        ]
        for api, count in sorted(counted.items()):
            lines.append(_line(api, count))
            products = [
                (name, c)
                for (f, kind, a, name), c in report.counts.items()
                if f == firm and kind == "product" and a == api
            ]
            lines += [_line("  " + name, c) for name, c in sorted(products)]
    for kind, title in (
        ("stage", "stages of the library that answered"),
        ("rule", "broken rules of the page"),
    ):
        lines += ["", f"{title:<60}{'rows':>7}{'library':>9}{'page':>9}{'two codes':>11}"]
        for firm in (True, False):
            named = sorted(
                (api, name, c)
                for (f, k, api, name), c in report.counts.items()
                if f == firm and k == kind
            )
            lines += [
                _line(f"  {api} {name}{'' if firm else ' (not firm)'}", c, 60)
                for api, name, c in named
            ]
    lines += ["", f"disagreements: {len(report.wrong)}", *map(_spelled, report.wrong)]
    entries = sum(report.explained.values())
    lines += [
        "",
        (
            f"page and library differ and no entry says why: {len(report.unexplained)} (entries"
            f" behind the others: {entries})"
        ),
    ]
    lines += map(_spelled, report.unexplained)
    return "\n".join(lines) + "\n"


def _line(name: str, count: Count, width: int = 42) -> str:
    page = 100.0 * count.page / count.rows if count.rows else 100.0
    return f"{name:<{width}}{count.rows:>7}{count.percent:>8.2f}%{page:>8.2f}%{count.two:>11}"


def _spelled(run: JudgedRun) -> str:
    side = " or ".join(map(str, run.library)) or "nothing known"
    breaks = "; ".join(run.breaks) or "nothing"
    changed = f"; changed: {', '.join(run.changed)}" if run.changed else ""
    return (
        f"  {run.id} ({run.api}, {run.product}{'' if run.firm else ', not firm'}): was"
        f" {run.status}; library {side} by {run.stage}; page {' or '.join(map(str, run.page))};"
        f" breaks {breaks}{changed}"
    )
