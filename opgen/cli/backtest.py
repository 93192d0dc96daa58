"""``opgen backtest FILE``: compare the page and the library with real statuses."""

from __future__ import annotations

import json

import click

from opgen.cli import DIFFERENCE
from opgen.cli.options import Number, all_option, examples, json_option


@click.command(
    epilog=examples(
        "opgen backtest library_sample.jsonl.gz",
        "opgen backtest --fail-under 99 --json library_sample.jsonl.gz",
    )
)
@click.argument("file", type=click.Path(dir_okay=False))
@json_option()
@all_option("Show agreement by product, stage and rule, and list every disagreement.")
@click.option(
    "--fail-under",
    type=Number(0, 100),
    metavar="PERCENT",
    help="Exit 1 if the library side agrees on fewer of the firm rows of an operator.",
)
def command(file: str, as_json: bool, everything: bool, fail_under: float | None) -> None:
    """Compare page and library with statuses that were really returned.

    FILE has one call per line, in JSON, with the keys status and firm. The status is null if the
    host died. With -, calls come from standard input.
    """
    from opgen.oracle import backtest, erratafile
    from opgen.report.backtest import as_data, as_text
    from opgen.spec.catalog import catalog

    report = backtest.backtest(backtest.load(file, catalog()), catalog(), erratafile.errata())
    if as_json:
        click.echo(json.dumps(as_data(report), indent=1, ensure_ascii=False))
    else:
        click.echo(as_text(report, everything), nl=False)
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
