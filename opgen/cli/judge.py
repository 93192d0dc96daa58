"""``opgen judge [FILE | -]``: say what the page and the library answer to calls."""

from __future__ import annotations

import sys

import click

from opgen.cli.options import examples
from opgen.model import TRUTHS, Truth


@click.command(
    epilog=examples("opgen judge calls.jsonl", "opgen judge --format text calls.jsonl.gz")
)
@click.argument("calls", metavar="[FILE]", type=click.Path(dir_okay=False), default="-")
@click.option(
    "--format",
    "form",
    type=click.Choice(("json", "text")),
    default="json",
    show_default=True,
    help="Output for programs or for people.",
)
@click.option(
    "--truth",
    type=click.Choice(TRUTHS),
    default="both",
    show_default=True,
    help="Which sources to ask.",
)
def command(calls: str, form: str, truth: str) -> None:
    """Say what page and library answer to calls, and which rules the calls break.

    FILE has one call per line, in JSON. Without FILE, or with -, calls come from standard input.
    opgen prints one line of JSON per call, in the same order.
    """
    from opgen.calls.gc_pause import gc_paused
    from opgen.calls.jsonl import read_calls
    from opgen.oracle import callfiles
    from opgen.report.terminal import visible
    from opgen.spec.catalog import catalog

    pages = catalog()
    answers = callfiles.judge_calls(read_calls(calls, pages.kinds), pages)
    asked: Truth = truth  # type: ignore[assignment]
    lines = (
        callfiles.json_lines(answers, pages, asked)
        if form == "json"
        else (visible(callfiles.as_text(answer, pages, asked)) for answer in answers)
    )
    with gc_paused():
        sys.stdout.writelines(f"{line}\n" for line in lines)
