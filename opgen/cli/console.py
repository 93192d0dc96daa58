"""Where words go: data to standard output, messages and progress to standard error.

NO_COLOR and COLUMNS are honoured. Where the output has no edge, sentences stay whole, and tables
take 120 columns at most.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import click

from opgen.report.terminal import visible

if TYPE_CHECKING:
    from rich.console import Console

    from opgen.suite.selection import Request
    from opgen.suite.suite import Suite

_log = logging.getLogger(__name__)
WIDTH = 120
"""Columns of a table where the output is no terminal and COLUMNS is not set."""
BETWEEN = 0.1
"""Seconds between two drawings of a progress bar, at least."""


def output() -> Console:
    """Standard output."""
    return _console(stderr=False)


def messages() -> Console:
    """Standard error."""
    return _console(stderr=True)


def _console(stderr: bool) -> Console:
    from rich.console import Console

    class Told(Console):
        def on_broken_pipe(self) -> None:
            """Called while the error is handled; rich would exit with code 1 and say nothing."""
            raise  # noqa: PLE0704  rich calls this in an except clause

    edge = (sys.stderr if stderr else sys.stdout).isatty() or "COLUMNS" in os.environ
    return Told(
        stderr=stderr,
        width=None if edge else WIDTH,
        highlight=False,
        emoji=False,
        soft_wrap=not edge,
    )


def as_options(text: str, parameters: Iterable[click.Parameter]) -> str:
    """A message in which the parameters of a command, in backquotes, are called as its user calls
    them.

    >>> calls = click.Option(["--seed-calls"]), click.Argument(["calls"], metavar="[CALLS]...")
    >>> as_options("`seed_calls`: a.jsonl: is for a plan, not for `calls`", calls)
    '--seed-calls: a.jsonl: is for a plan, not for CALLS'
    """
    words = {
        f"`{parameter.name}`": parameter.opts[0]
        if isinstance(parameter, click.Option)
        else (parameter.metavar or "").strip("[].")
        for parameter in parameters
    }
    return re.sub("`[a-z_]+`", lambda name: words.get(name[0], name[0]), text)


def note(text: str, quiet: bool = False) -> None:
    """One message on standard error, unless ``quiet``, and in the log."""
    context = click.get_current_context(silent=True)
    told = visible(as_options(text, context.command.params if context else ()))
    _log.debug("%s", told)
    if not quiet:
        click.echo(told, err=True)


def json_text(value: object) -> None:
    """A value as indented JSON on standard output; keys keep their order."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def enumerated(
    request: Request,
    quiet: bool = False,
    workers: int | None = None,
    announce: bool = True,
    left_out: bool = True,
) -> Suite:
    """The suite of a request, and what there is to say of it, unless ``quiet``: what it ignores,
    and where asked, what budgets leave out.

    What is wrong with the request is said before the work is announced.
    """
    from opgen.generation.processes import mapped
    from opgen.suite.remarks import remarks

    request.check()
    note("enumerating calls ...", quiet or not announce)
    pages = None if request.files else len(request.pages()[0])
    with progress("pages", pages, quiet) as advance:
        suite = request.suite(mapped(workers, advance))
    for line in remarks(request, suite):
        note(line, quiet)
    for lost in suite.left_out if left_out and not request.files else ():
        note(str(lost), quiet)
    return suite


@contextmanager
def progress(label: str, total: int | None, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while the block runs, where standard error is a terminal; gives a
    function that advances it.

    No thread draws it: work may fork while it is shown.

    >>> with progress("cases", 3) as advance:
    ...     advance(3)
    """
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=messages(), transient=True, auto_refresh=False) as bar:
        task = bar.add_task(label, total=total)
        drawn = monotonic()

        def advance(done: int) -> None:
            nonlocal drawn
            bar.advance(task, done)
            if monotonic() - drawn >= BETWEEN:
                bar.refresh()
                drawn = monotonic()

        bar.refresh()
        yield advance
