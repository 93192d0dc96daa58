"""``opgen backtest FILE``: compare what opgen expects with statuses that a library returned."""

from __future__ import annotations

import click

from opgen.cli.errors import DIFFERENCE
from opgen.cli.number_types import Number
from opgen.cli.options import all_option, edition_option, examples, json_option, library_option


@click.command(
    epilog=examples(
        "opgen backtest library_sample.jsonl.gz",
        "opgen backtest --fail-under 99 --json library_sample.jsonl.gz",
    )
)
@click.argument("file", type=click.Path(dir_okay=False))
@library_option("A release, or a folder of errata, instead of all that opgen ships.")
@click.option(
    "--skip-bad-lines",
    "skip",
    is_flag=True,
    help="Leave out the lines that are not calls, and say how many there are.",
)
@json_option()
@all_option("Show agreement by operator, product, stage and rule; list every disagreement.")
@click.option(
    "--fail-under",
    type=Number(0, 100),
    metavar="PERCENT",
    help="Exit 1 if, for any operator, the errata agree with less than this share of its firm"
    " statuses.",
)
@edition_option()
def command(
    file: str,
    library: str,
    skip: bool,
    as_json: bool,
    everything: bool,
    fail_under: float | None,
    edition: str,
) -> None:
    """Compare page and library with statuses that a library returned.

    FILE has one call per line, in JSON, with the key status, null if the host died. Add "firm":
    false if a device may return another status. With -, calls come from standard input.
    """
    from opgen.calls.call_json import ForeignCall
    from opgen.cli import console
    from opgen.model import Problem
    from opgen.oracle import backtest, errata_folder
    from opgen.report.backtest import as_data, render
    from opgen.report.terminal import counted
    from opgen.spec.catalog import catalog

    pages = catalog(edition)
    errata = errata_folder.errata_of(library)
    foreign: list[ForeignCall] = []
    skipped: list[Problem] | None = [] if skip else None
    named = backtest.load(file, pages, foreign, skipped)
    if skipped:
        console.note(f"skipped {counted(len(skipped), 'line')}, the first: {skipped[0]}")
    for release in backtest.other_releases(named, errata):
        console.note(f"{file}: has statuses of release {release}, and the errata are of another")
    report = backtest.backtest(named, pages, errata, foreign)
    if as_json:
        console.json_text(as_data(report))
    else:
        render(report, console.output(), everything)
    if fail_under is not None and not report.operators(True):
        click.echo("no status is firm, so there is nothing to compare", err=True)
        raise click.exceptions.Exit(DIFFERENCE)
    below = report.below(fail_under) if fail_under is not None else []
    for api in below:
        click.echo(
            f"{api}: {report.operators(True)[api].percent:.2f}% is below {fail_under:g}%", err=True
        )
    if below:
        raise click.exceptions.Exit(DIFFERENCE)
