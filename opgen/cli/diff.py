"""``opgen diff BUNDLE RESULTS``: judge what a device answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opgen.cli.choosing import choose_of
from opgen.cli.errors import DIFFERENCE
from opgen.cli.options import (
    all_option,
    case_option,
    examples,
    file_argument,
    force_option,
    json_option,
    library_option,
    quiet_option,
    where_option,
)
from opgen.cli.paths import OutputPath
from opgen.model import TRUTHS

if TYPE_CHECKING:
    from opgen.comparison.diff_report import DiffReport


@click.command(
    epilog=examples(
        "opgen diff suite.h5 results.h5",
        "opgen diff suite.h5 results.h5 --html report.html",
        "opgen diff suite.h5 results.h5 --json > report.json",
    )
)
@file_argument("bundle", "BUNDLE")
@file_argument("results", "RESULTS")
@click.option(
    "--against",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Results of another device, whose errors the double benchmark compares with these.",
)
@click.option(
    "--again",
    metavar="FILE",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="Results of a repeated run, to compare bit by bit (repeatable).",
)
@click.option(
    "--truth",
    type=click.Choice(TRUTHS),
    default="both",
    show_default=True,
    help="Which statuses count: the page's, the library's, or (both) the page's, with known"
    " deviations excused.",
)
@library_option("Judge the stored calls anew by this release, or by this folder of errata.")
@click.option(
    "--strict",
    is_flag=True,
    help="Count lenient, unusual and known deviation as failures.",
)
@click.option("--allow-empty", is_flag=True, help="Exit 0 if the bundle has no cases.")
@click.option("--fail-on-skip", is_flag=True, help="Exit 1 if a case was skipped.")
@click.option(
    "--min-passed",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Exit 1 if fewer cases passed.",
)
@all_option("List every failing case, not only the first few.")
@click.option(
    "--waivers",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="YAML file of verdicts to accept, each until a given day.",
)
@click.option(
    "--html",
    metavar="FILE",
    type=OutputPath(dir_okay=False),
    help="Write a report in HTML.",
)
@click.option(
    "--junit", metavar="FILE", type=OutputPath(dir_okay=False), help="Write a report in JUnit XML."
)
@json_option("Print the report in JSON, which opgen compare reads.")
@case_option()
@where_option()
@force_option("Replace even files that opgen did not write.")
@quiet_option("Print no report; write the files, and set the exit code.")
def command(
    bundle: str,
    results: str,
    against: str | None,
    again: tuple[str, ...],
    truth: str,
    library: str,
    strict: bool,
    allow_empty: bool,
    fail_on_skip: bool,
    min_passed: int,
    everything: bool,
    waivers: str | None,
    html: str | None,
    junit: str | None,
    as_json: bool,
    cases: tuple[str, ...],
    where: str,
    force: bool,
    quiet: bool,
) -> None:
    """Judge what a device answered: a verdict per case.

    A case passes if its status is admitted and every element lies within its stored bound. The
    report also shows what published standards say. Exit 1 if a case failed, crashed or is missing,
    or if nothing is proved: no case passed that a wrong device would fail.
    """
    import datetime
    from functools import partial

    import opgen
    from opgen.cli.console import note, output
    from opgen.comparison import waivers as site
    from opgen.report import data, text
    from opgen.report.writing import write_report

    accepted = site.read(waivers) if waivers else []
    with opgen.open(bundle) as file:
        judge = partial(
            opgen.diff, file, results, against=against, again=again, truth=truth, library=library
        )
        chosen = choose_of(file, cases, where, lambda: _verdicts(judge())) if cases or where else []
        report = judge(cases=chosen)
        report.allow_empty = allow_empty
        report.fail_on_skip, report.min_passed = fail_on_skip, min_passed
        site.apply(report, accepted, datetime.date.today(), whole=not chosen)
        if html:
            write_report(html, _html(report, strict), force)
            note(f"{html}: written", quiet)
    if junit:
        from opgen.report import junit as xml

        write_report(junit, xml.text(report, strict), force)
        note(f"{junit}: written", quiet)
    if as_json:
        click.echo(data.text(report), nl=False)
    elif not quiet:
        text.render(report, output(), strict, None if everything else text.SHOWN)
    if not report.green(strict):
        raise click.exceptions.Exit(DIFFERENCE)


def _verdicts(report: DiffReport) -> dict[str, str]:
    return {verdict.case: verdict.verdict for verdict in report}


def _html(report: DiffReport, strict: bool) -> str:
    from opgen.cli.errors import Stop

    try:
        from opgen.report import html
    except ModuleNotFoundError as error:
        raise Stop(
            f"--html: needs {error.name}, which is not installed: pip install jinja2"
        ) from None
    return html.text(report, strict)
