"""``opgen judge [FILE | -]``: say how a device should answer calls."""

from __future__ import annotations

import sys

import click

from opgen.cli.options import edition_option, examples, library_option
from opgen.model import TRUTHS, Truth


@click.command(
    epilog=examples(
        "opgen judge calls.jsonl",
        "opgen judge --format text calls.jsonl.gz",
        "opgen judge --fail-on invalid calls.jsonl  # exit 1",
    )
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
    help="Whose answers to print: the page's, the library's or both.",
)
@click.option(
    "--skip-bad-lines",
    is_flag=True,
    help="If some lines are not calls, judge the others, and exit 1.",
)
@click.option(
    "--fail-on",
    type=click.Choice(("invalid",)),
    help="Exit 1 if a call is invalid: the page or the library (see --truth) does not accept it.",
)
@edition_option()
@library_option("Take what the library does from this release, or from this folder of errata.")
def command(
    calls: str,
    form: str,
    truth: str,
    skip_bad_lines: bool,
    fail_on: str | None,
    edition: str,
    library: str,
) -> None:
    """Say how a device should answer calls, by page and library, and which rules the calls break.

    FILE has one call per line, in JSON. Without FILE, or with -, calls come from standard input.
    opgen prints one line of JSON per call, in the same order. It refuses a file if a line is
    not a call. With --skip-bad-lines, it names such lines and judges the others; it exits 2 if all
    lines are bad. For an empty file, it prints nothing and exits 0.
    """
    from opgen.calls.jsonl import parts, read_calls
    from opgen.cli.errors import BAD, DIFFERENCE
    from opgen.generation.processes import cores, mapped
    from opgen.model import Problem
    from opgen.oracle import callfiles
    from opgen.oracle.errata_folder import errata_of
    from opgen.oracle.printing import Printed, in_parts
    from opgen.report.terminal import counted, visible
    from opgen.spec.catalog import catalog

    pages, source = catalog(edition), errata_of(library)
    skipped: list[Problem] | None = [] if skip_bad_lines else None
    asked: Truth = truth  # type: ignore[assignment]

    def work(part: range | None) -> Printed:
        bad = None if part else skipped
        answers = callfiles.judge_calls(
            read_calls(calls, pages.kinds, bad, part=part), pages, source
        )
        lines = (
            callfiles.json_lines(answers, pages, asked)
            if form == "json"
            else (
                visible(line)
                for answer in answers
                for line in callfiles.as_text(answer, pages, asked).split("\n")
            )
        )
        return Printed.of(answers, lines, asked)

    printed = in_parts(work, parts(calls, cores()), mapped())
    sys.stdout.writelines(part.text for part in printed)
    judged = sum(len(part.ids) for part in printed)
    if not judged and not skipped:
        click.echo(f"{'standard input' if calls == '-' else calls}: no calls", err=True)
    for problem in skipped or ():
        click.echo(visible(problem), err=True)
    invalid = [name for part in printed for name in part.refused] if fail_on else []
    if invalid:
        told = f"{len(invalid)} of {counted(judged, 'call')} invalid, such as {invalid[0]}"
        click.echo(visible(told), err=True)
    if skipped or invalid:
        raise click.exceptions.Exit(DIFFERENCE if judged else BAD)
