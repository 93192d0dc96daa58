"""Standard output and error: they take any text, and may be closed."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys


def open_streams() -> None:
    """Where the caller has closed standard output or error, what is written there goes nowhere, and
    into no file that is opened later.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def close_stdout() -> None:
    """Let what is left in the buffer of a closed or full output go, so that Python does not
    complain at its end.
    """
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """What an encoding has no bytes for, as JSON escapes it, so that JSON stays JSON."""
    assert isinstance(error, UnicodeEncodeError)
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return (
        "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)),
        error.end,
    )


def write_any_text() -> None:
    """Standard output and error take every text, whatever their encoding."""
    codecs.register_error("escaped", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="escaped")
