"""``opgen backtest FILE``: the library side against statuses that were really returned."""

from __future__ import annotations

import json
import sys

import click

from opgen import backtest
from opgen.book import book
from opgen.erratafile import errata
from opgen.model import FileError


@click.command("backtest")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print data instead of a table.")
@click.option("--fail-under", type=click.FloatRange(0, 100), metavar="PCT", help="Exit 1 where an operator agrees on fewer firm rows.")
def command(file: str, as_json: bool, fail_under: float | None) -> None:
    """Judge every call of FILE by page and library, and compare with its status.

    FILE is JSON Lines in the form of a call (`-` reads standard input) with the keys `status` (null where the host died) and `firm`.
    """
    try:
        report = backtest.backtest(backtest.load(file, book()), book(), errata())
    except FileError as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    click.echo(json.dumps(backtest.plain(report), indent=1, ensure_ascii=False) if as_json else backtest.text(report), nl=as_json)
    below = report.below(fail_under) if fail_under is not None else []
    for api in below:
        click.echo(f"{api}: {report.operators(True)[api].percent:.2f}% is below {fail_under:g}%", err=True)
    sys.exit(1 if below else 0)
