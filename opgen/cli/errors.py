"""How the program ends: exit codes, and exceptions as messages, one line per problem on standard
error. Exceptions become messages here alone.
"""

from __future__ import annotations

import errno
import resource
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any, NoReturn

import click

from opgen.cli.streams import close_stdout

DIFFERENCE, BAD, INTERRUPTED, UNREAD = 1, 2, 130, 141
"""Exit codes: a comparison found a difference; bad usage, file or environment; Ctrl-C; nobody reads
the output any more. The last two are those of a shell for SIGINT and SIGPIPE. 0 is all well."""


class Stop(click.ClickException):
    """What has gone wrong, as lines for standard error, in each of which a file's own text stays on
    its line.
    """

    exit_code = BAD

    def __init__(self, *lines: str) -> None:
        from opgen.report.terminal import visible

        super().__init__("\n".join(map(visible, lines)))

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file=file or sys.stderr)


class Disagreement(Stop):
    """A device, not what the user gave, is at fault."""

    exit_code = DIFFERENCE


class Interrupted(Stop):
    """Somebody pressed Ctrl-C."""

    exit_code = INTERRUPTED


def stop(error: BaseException, parameters: Callable[[], Sequence[click.Parameter]]) -> NoReturn:
    """Raise what ends the program in good order; a fault of opgen's own keeps its traceback.
    ``parameters``: those of the command, whose messages name its options.
    """
    notes = getattr(error, "__notes__", ())
    if isinstance(error, (KeyboardInterrupt, EOFError)):
        raise Interrupted(*notes, "interrupted") from None
    if isinstance(error, OSError) and error.filename is None:
        if error.errno in (errno.EPIPE, errno.ENOSPC):
            close_stdout()
        if error.errno == errno.EPIPE:
            raise click.exceptions.Exit(UNREAD)
    lines = _lines(error)
    if lines is not None:
        from opgen.cli.console import as_options

        params = parameters()
        kind = Disagreement if getattr(error, "exit_code", BAD) == DIFFERENCE else Stop
        raise kind(*(as_options(line, params) for line in (*lines, *notes))) from None
    if not isinstance(error, Exception):
        raise error
    import traceback

    raise Stop(
        *"".join(traceback.format_exception(error)).splitlines(),
        "this is a fault of opgen, not of your files; please report it with the lines above",
    ) from None


def _lines(error: BaseException) -> list[str] | None:
    """One line per problem; None for an error that nobody expects."""
    from opgen.model import FileError

    if isinstance(error, FileError):
        return [str(problem) for problem in error.problems]
    bundles = sys.modules.get("opgen.bundle.format.dtypes")
    if bundles is not None and isinstance(error, bundles.BundleError):
        return [str(error)]
    if isinstance(error, OSError):
        if error.errno is None:  # what the loader of libraries says
            return [str(error) or type(error).__name__]
        place = "standard output" if error.filename is None else error.filename
        return [f"{place}: {error.strerror}"]
    if isinstance(error, ImportError) and not (error.name or "").startswith("opgen"):
        if isinstance(error, ModuleNotFoundError):
            return [f"needs {error.name}, which is not installed: pip install {error.name}"]
        limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
        remedy = "allow more memory (ulimit -v)" if limited else "install opgen anew"
        return [f"a library cannot be loaded: {str(error).splitlines()[-1]}; {remedy}"]
    if isinstance(error, MemoryError):
        return ["not enough memory; try a smaller plan, fewer workers, or --shard"]
    return None
