"""``opgen coverage``: measure which rules and combinations of values a suite tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from opgen.cli import options
from opgen.cli.errors import DIFFERENCE
from opgen.cli.number_types import Number
from opgen.cli.paths import OutputPath

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opgen.report.layout import TextTable


@click.command(
    epilog=options.examples(
        "opgen coverage --plan smoke avg_pool2d_backward",
        "opgen coverage --plan smoke reflection_pad2d_backward --json",
        "opgen coverage --plan smoke group_norm_backward --fail-under 100  # exit 1",
    )
)
@options.operators_argument(click.Path())
@options.edition_option()
@options.plan_option(default="standard")
@click.option(
    "--bundle",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Measure the calls of this bundle instead.",
)
@click.option(
    "--calls",
    metavar="FILE",
    type=click.Path(),
    default="",
    help="Measure the calls of this file instead.",
)
@click.option(
    "--html", "page", metavar="FILE", type=OutputPath(), help="Write a report in HTML as well."
)
@click.option(
    "--routes",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Count the routes of the calls in this file; the key 'kernels' of a call holds its route.",
)
@click.option(
    "--witnesses",
    metavar="FILE",
    type=OutputPath(),
    help="With --routes: write the smallest legal call of each route to FILE, which opgen generate"
    " --calls reads.",
)
@click.option(
    "--untested", is_flag=True, help="List every boundary, size and route without a call."
)
@click.option(
    "--fail-under",
    metavar="PERCENT",
    type=Number(0, 100),
    help="Exit 1 if less than this share of the boundaries or tuples is covered.",
)
@options.force_option("Replace the file even if opgen did not write it.")
@options.json_option()
def command(
    operators: tuple[str, ...],
    plan: str,
    page: str | None,
    routes: str | None,
    witnesses: str | None,
    untested: bool,
    fail_under: float | None,
    force: bool,
    **asked: Any,
) -> None:
    """Measure which rules and combinations of values a suite tests.

    opgen counts the boundaries of every rule, the sizes at which kernels change, and the tuples of
    the plan's values that the rules allow. The code that counts is separate from the code that
    makes suites. OP may also be a bundle; opgen then measures its calls against the values of the
    plan.

    A route is the series of kernels with which the vendor's library computes a call. With --routes,
    opgen counts the routes of the calls in a file. A route is covered if the suite has one of the
    calls that take it.
    """
    import json
    import os
    from pathlib import Path

    from opgen.bundle.write.output import write_text
    from opgen.cli import console
    from opgen.model import FileError, Problem
    from opgen.quality.coverage_request import of_file, of_suite
    from opgen.report.coverage import html, summary
    from opgen.report.layout import Paragraph, show
    from opgen.report.terminal import counted
    from opgen.report.writing import write_report
    from opgen.suite.selection import Request

    skipped: list[Problem] = []
    options.only_one(bundle=asked["bundle"], calls=asked["calls"])
    if witnesses and not routes:
        raise FileError.of("`witnesses`", witnesses, "needs --routes, a file of calls")
    files = [name for name in operators if Path(name).is_file()]
    absent = [
        name for name in operators if name not in files and (os.sep in name or name.endswith(".h5"))
    ]
    if absent:
        raise FileError([Problem("OP", None, name, "no such file") for name in absent])
    if len(files) + bool(asked["bundle"]) + bool(asked["calls"]) > 1:
        raise FileError(
            [
                Problem(
                    "OP", None, name, "only one file of calls can be counted; leave out the others"
                )
                for name in files
            ]
        )
    bundle = asked["bundle"] or next(iter(files), "")
    names = [name for name in operators if name not in files]
    if bundle or asked["calls"]:
        of = (names, plan, bundle, asked["calls"], asked["edition"])
        report = of_file(*of, routes or "", skipped)
    else:
        request = Request(names, plan=plan, edition=asked["edition"])
        suite = console.enumerated(request, announce=not asked["as_json"])
        report = of_suite(request, suite, routes or "", skipped)
    if skipped:
        console.note(f"skipped {counted(len(skipped), 'line')}, the first: {skipped[0]}")
    if witnesses:
        lines = [
            json.dumps(line) for page in report["pages"] for line in page["routes"]["witnesses"]
        ]
        write_text(witnesses, "".join(f"{line}\n" for line in lines), force=force)
    if page:
        write_report(page, html(report, "opgen coverage"), force)
    if asked["as_json"]:
        console.json_text(report)
    else:
        show(console.output(), *_tables(report, untested), Paragraph(summary(report)))
    if fail_under is not None and report["lowest"] < fail_under:
        console.note(f"{report['lowest']:g} % is under {fail_under:g} %")
        raise click.exceptions.Exit(DIFFERENCE)


def _tables(report: dict[str, Any], untested: bool) -> Iterator[TextTable]:
    from opgen.report.layout import TextTable

    pages = report["pages"]
    columns = (
        "calls",
        "clauses",
        "rules",
        "broken",
        "isolated",
        "boundaries",
        "sizes",
        "values",
        "pairs",
        "triples",
        *(["routes"] if any("routes" in page for page in pages) else []),
    )
    yield TextTable("page", *columns, rows=map(_row, pages), right=columns)
    if untested:
        rows = (
            (page["page"], rule["rule"], f"{b['where']}: {b['name']}", b["reason"])
            for page in pages
            for rule in page["rules"]
            for b in rule["boundaries"]
            if not b["calls"]
        )
        yield TextTable("page", "rule", "boundary", "reason", rows=rows)
        for kind in ("size", "route"):
            missing = [
                (page["page"], text)
                for page in pages
                for text in page.get(f"{kind}s", {}).get("missing", ())
            ]
            yield TextTable("page", f"{kind} that no call has", rows=missing)


def _row(page: dict[str, Any]) -> list[object]:
    """What is counted of a page."""
    reached = sum(bool(clause["invalid"]) for clause in page["clauses"])
    return [
        page["page"],
        page["calls"],
        f"{reached}/{len(page['clauses'])}" if page["clauses"] else "",
        len(page["rules"]),
        sum(bool(rule["invalid"]) for rule in page["rules"]),
        sum(bool(rule["isolated"]) for rule in page["rules"]),
        f"{page['boundaries']['tested']}/{page['boundaries']['testable']}",
        f"{page['sizes']['reached']}/{page['sizes']['all']}",
        *(f"{x['covered']}/{x['feasible']}" for x in page["tuples"]),
        *([f"{page['routes']['reached']}/{page['routes']['all']}"] if "routes" in page else []),
    ]
