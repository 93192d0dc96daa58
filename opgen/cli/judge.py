"""``opgen judge [CALLS.jsonl | -]``: say what page and library answer to calls."""

from __future__ import annotations

import sys

import click

from opgen.cli.options import examples
from opgen.model import TRUTHS, Truth


@click.command(
    epilog=examples("opgen judge calls.jsonl", "opgen judge --format text calls.jsonl.gz")
)
@click.argument("calls", metavar="[CALLS.jsonl]", type=click.Path(dir_okay=False), default="-")
@click.option(
    "--format",
    "form",
    type=click.Choice(("json", "text")),
    default="json",
    show_default=True,
    help="Programs or people.",
)
@click.option(
    "--truth",
    type=click.Choice(TRUTHS),
    default="both",
    show_default=True,
    help="Which source to ask.",
)
def command(calls: str, form: str, truth: str) -> None:
    """Say for each call what the page admits, which rules it breaks, and what the published library
    answers.

    CALLS has one call per line, in JSON; - or nothing reads standard input. One line of JSON comes
    out per call, in the same order.
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
        callfiles.json_lines(answers, asked)
        if form == "json"
        else (visible(callfiles.as_text(answer, pages, asked)) for answer in answers)
    )
    with gc_paused():
        sys.stdout.writelines(f"{line}\n" for line in lines)
