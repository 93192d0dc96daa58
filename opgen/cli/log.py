"""What a command does, step by step: on standard error with ``-v``, in a file with ``--log``.

The file also has what the command says to its user, and how it ends.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shlex import join
from time import monotonic

import click

from opgen.model import FileError
from opgen.model.version import VERSION
from opgen.report.terminal import visible

LOGGER = logging.getLogger("opgen")
"""The parent of the loggers of all rooms."""


class _Formatter(logging.Formatter):
    """A line per step, whatever texts of others it names."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        return visible(super().formatMessage(record))


@contextmanager
def steps(verbose: bool, path: str | None) -> Iterator[None]:
    """Show steps on standard error, and write them, with answers to single cases, to a file, while
    the block runs.

    The first line is the command, the last its exit code. Raises FileError where the file cannot be
    written.
    """
    handlers: list[logging.Handler] = []
    if verbose:
        handlers.append(logging.StreamHandler(sys.stderr))
        handlers[0].setLevel(logging.INFO)
    if path:
        try:
            handlers.append(logging.FileHandler(path, encoding="utf-8"))
        except OSError as error:
            raise FileError.of(path, "", f"cannot be written: {error.strerror}") from None
    LOGGER.setLevel(logging.DEBUG if path else logging.INFO)
    for handler in handlers:
        handler.setFormatter(_Formatter("%(asctime)s %(name)s: %(message)s"))
        LOGGER.addHandler(handler)
    started, code = monotonic(), 0
    LOGGER.debug("opgen %s: %s", VERSION, join(sys.argv[1:]))
    try:
        yield
    except BaseException as error:
        code = getattr(error, "exit_code", 1)
        if isinstance(error, click.ClickException):
            LOGGER.debug("%s", error.format_message())
        raise
    finally:
        LOGGER.debug("exit code %s after %.1f s", code, monotonic() - started)
        LOGGER.setLevel(logging.NOTSET)
        for handler in handlers:
            LOGGER.removeHandler(handler)
            handler.close()
