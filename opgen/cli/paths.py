"""Files on a command line: which a command reads and which it writes, and that no two of them are
one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click


class OutputPath(click.Path):
    """A file, or a ``folder``, that the command writes; it may be the one that the parameter
    ``over`` names.
    """

    def __init__(self, *, over: str = "", folder: bool = False, **rest: Any) -> None:
        super().__init__(**rest)
        self.over = over
        self.folder = folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("names no file", param, ctx)
        if value == "-" and not self.allow_dash:
            self.fail("is not a file: this output cannot go to standard output", param, ctx)
        if str(value).endswith(os.sep) and not self.folder:
            self.fail(f"{value!r} names a folder: name a file", param, ctx)
        try:
            Path(value).stat()
        except OSError as error:
            if error.errno == errno.ELOOP:
                self.fail(f"{value!r} is a loop of links: name another", param, ctx)
        return super().convert(value, param, ctx)


class PlanPath(click.Path):
    """A tier, or a plan file and perhaps one of its tiers after ``::``."""


def refuse_shared(ctx: click.Context) -> None:
    """Raise FileError where a file that the command is about to write is one that it reads, or
    writes as something else.
    """
    files = list(_files(ctx))
    for parameter, path in files:
        if not isinstance(parameter.type, OutputPath):
            continue
        for other, taken in files:
            if other is not parameter and other.name != parameter.type.over and _same(path, taken):
                from opgen.model import FileError

                name = other.opts[0] if isinstance(other, click.Option) else other.make_metavar(ctx)
                raise FileError.of(
                    parameter.opts[0], path, f"is also given as {name}; name another"
                )


def _files(ctx: click.Context) -> Iterator[tuple[click.Parameter, str]]:
    """Every path that was given, with its parameter."""
    for parameter in ctx.command.params:
        if isinstance(parameter.type, click.Path):
            given = ctx.params.get(parameter.name or "")
            yield from (
                (
                    parameter,
                    value.partition("::")[0] if isinstance(parameter.type, PlanPath) else value,
                )
                for value in (given if isinstance(given, tuple) else (given,))
                if value and value != "-"
            )


def _same(path: str, other: str) -> bool:
    """Whether two names lead to one file, or to one place where none is yet; the place of a file
    being written counts too.
    """
    if Path(path).exists() and Path(other).exists() and Path(path).samefile(other):
        return True
    return os.path.realpath(other) in (os.path.realpath(path), os.path.realpath(path + ".partial"))
