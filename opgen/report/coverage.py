"""A coverage report as one HTML page without anything from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, TypeAlias

from opgen.report.writing import part

CoverageData: TypeAlias = dict[str, Any]
"""A part of what :func:`opgen.quality.coverage.coverage` returns."""
TUPLES = ("values", "pairs", "triples")
"""What a page calls tuples of one, two and three."""


def html(report: CoverageData, title: str) -> str:
    """The whole page."""
    head = f"<h1>{escape(title)}</h1><p>{escape(summary(report))}</p>"
    body = _overview(report["pages"]) + "".join(_page(page) for page in report["pages"])
    meta = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    )
    start = (
        "<!doctype html><html"
        f' lang="en"><head>{meta}<title>{escape(title)}</title><style>\n{part("style.css")}</style></head>'
    )
    return f"{start}<body>{head}{body}</body></html>\n"


def summary(report: CoverageData) -> str:
    """One line: boundaries of rules, and tuples of values by strength."""
    tuples = ", ".join(
        f"{rate:g} % of {name}"
        for rate, name in zip(report["tuples"].values(), TUPLES, strict=True)
    )
    return f"{report['boundaries']:g} % of the boundaries that calls can reach; {tuples} that are feasible"


def _overview(pages: list[CoverageData]) -> str:
    """A row per page: boundaries and tuples covered."""
    rows = [
        [
            page["page"],
            page["calls"],
            page["valid"],
            _of(page["boundaries"]),
            *map(_of, page["tuples"]),
        ]
        for page in pages
    ]
    return _table(("page", "calls", "valid", "boundaries", *TUPLES), rows)


def _page(page: CoverageData) -> str:
    clauses = [
        [clause[key] for key in ("clause", "at", "rules", "broken", "invalid", "exact", "why_none")]
        for clause in page["clauses"]
    ]
    tuples = [
        [TUPLES[row["t"] - 1], row["covered"], row["feasible"], row["infeasible"]]
        for row in page["tuples"]
    ]
    axes = [
        [axis["axis"], axis["values"], *(_of(axis[t]) for t in ("1", "2", "3")), axis["why"]]
        for axis in page["axes"]
    ]
    rules = [
        [
            rule["rule"],
            rule["clause"] or rule["bucket"],
            rule["valid"],
            rule["invalid"],
            rule["isolated"],
            " ".join(rule["codes"]),
            _of(rule),
        ]
        for rule in page["rules"]
    ]
    untested = [
        [
            rule["rule"],
            boundary["guard"],
            f"{boundary['where']}: {boundary['name']}",
            boundary["reason"],
        ]
        for rule in page["rules"]
        for boundary in rule["boundaries"]
        if not boundary["calls"]
    ]
    tested, sizes = page["boundaries"], page["sizes"]
    return "".join(
        (
            f"<h2>{escape(page['page'])}</h2>",
            f"<p>{escape(page['file'])}: {page['calls']} calls, {page['valid']} of them valid; ",
            f"{tested['tested']} of {tested['testable']} boundaries tested; ",
            f"{sizes['reached']} of {sizes['all']} sizes at which kernels may change have a call.</p>",
            _table(
                (
                    "clause",
                    "line",
                    "rules",
                    "broken",
                    "invalid calls",
                    "this code only",
                    "why none",
                ),
                clauses,
            )
            if clauses
            else "",
            _table(("", "covered", "feasible", "infeasible"), tuples),
            _fold("axes", _table(("axis", "values", "single", "pairs", "triples", "why"), axes)),
            _fold(
                "rules",
                _table(
                    ("rule", "clause", "valid", "invalid", "isolated", "codes", "boundaries"), rules
                ),
            ),
            _fold(
                f"{len(untested)} boundaries without a call",
                _table(("rule", "relation", "boundary", "reason"), untested),
            ),
        )
    )


def _of(counted: CoverageData) -> str:
    if "testable" in counted:
        return f"{counted['tested']} of {counted['testable']}"
    return f"{counted['covered']} of {counted['feasible']}"


def _fold(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def _table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; a column whose first value is a number is a column of numbers, and its heading
    stands above them.
    """
    rows = list(rows)
    first = rows[0] if rows else names
    head = "".join(
        f"<th{_number(value)}>{escape(name)}</th>" for name, value in zip(names, first, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{_number(value)}>{escape(str(value))}</td>" for value in row)
        + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _number(value: object) -> str:
    return ' class="n"' if isinstance(value, int) or re.fullmatch(r"\d+ of \d+", str(value)) else ""
