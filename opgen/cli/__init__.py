"""The command line: one file per command, found by listing this folder.

A module whose docstring begins with its own name, ``opgen verify``, has a click command named
``command``; what follows the colon is its line in ``opgen --help``, which therefore imports no
command.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import resource
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from opgen.cli.errors import BAD, Stop, stop
from opgen.cli.streams import open_streams, write_any_text

LEAST_MEMORY = 256 << 20
"""Bytes of address space without which libraries cannot be loaded; OpenBLAS then exits with 1."""

_HELP = """Test suites for the backward operators of Huawei's Ascend NPUs, and verdicts on devices.

Exit codes: 0 nothing is wrong; 1 something was found wrong; 2 bad usage, file or environment; 130
interrupted; 141 the program that was reading the output ended.
"""
_EPILOG = """\b
Examples:
  $ opgen ops
  $ opgen generate avg_pool2d_backward -o pool.h5
  $ opgen inspect pool.h5
  $ opgen run --help

Tab completion: eval "$(_OPGEN_COMPLETE=bash_source opgen)" (or zsh_source, fish_source)."""


GROUPS = {
    "Make suites": ("generate", "cases", "merge", "capture"),
    "Ask": ("explain", "ops", "page", "judge", "inspect"),
    "Measure": ("coverage", "mutants", "backtest", "learn"),
    "Run and judge devices": ("run", "diff", "compare", "minimize", "explore"),
    "Maintain": ("new", "draft", "check", "audit", "refresh", "verify", "schema"),
    "Exchange with other tools": ("import", "export", "unpack"),
}
"""The commands as ``opgen --help`` lists them."""


class Commands(click.Group):
    """The commands of this package, each imported when it is asked for."""

    def main(self, *args: Any, **given: Any) -> Any:
        atexit.register(gc.freeze)  # all ends with the process: nobody looks for what is garbage
        open_streams()
        try:
            return super().main(*args, **given)
        except OSError:  # not even the message can be written
            sys.exit(BAD)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(titles())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in titles():
            return None
        return _command(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, titles()))
        for group, names in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), titles()[name]) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in titles() and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            close = [title for title in titles() if title.startswith(name)] or get_close_matches(
                name, titles(), n=1, cutoff=0.5
            )
            ctx.fail(
                f"no such command '{name}'" + (f"; did you mean '{close[0]}'?" if close else "")
            )
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **given: Any) -> click.Context:
        with _good_order():  # --help and --version write here
            return super().make_context(*args, **given)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.default_map = None if ctx.resilient_parsing else _defaults()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _good_order(ctx), _steps(ctx), _good_order(ctx):
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


def _defaults() -> dict[str, dict[str, object]] | None:
    """What a pyproject.toml says of options; little is imported where no file speaks of opgen."""
    from pathlib import Path

    here = Path.cwd()
    files = (folder / "pyproject.toml" for folder in (here, *here.parents))
    path = next((file for file in files if file.is_file()), None)
    if path is None or b"tool.opgen" not in path.read_bytes():
        return None
    from opgen.cli import settings

    return settings.defaults(path, titles(), _command)


@cache
def _command(name: str) -> click.Command:
    """A command, which before anything else refuses to write over what it reads."""
    from opgen.cli import settings
    from opgen.cli.paths import refuse_shared

    command: click.Command = import_module(f"{__name__}.{name}").command
    command.name, does = name, command.callback
    for option in settings.options(command).values():
        option.envvar = settings.variable(name, option)

    @click.pass_context
    def callback(ctx: click.Context, *args: Any, **given: Any) -> Any:
        refuse_shared(ctx)
        return does(*args, **given) if does is not None else None

    command.callback = callback
    return command


@cache
def titles() -> dict[str, str]:
    """Name of each command -> what it is, in a few words: the first line of its module."""
    listed = {}
    for file in sorted(Path(__file__).parent.glob("*.py")):
        with open(file, encoding="utf-8") as source:
            title = re.match(
                rf'"""``opgen {file.stem}\b[^`]*``: (.+?)(?:""")?$', source.readline().rstrip()
            )
        if title:
            listed[file.stem] = title[1][0].upper() + title[1][1:]
    return listed


@contextmanager
def _good_order(ctx: click.Context | None = None) -> Iterator[None]:
    """Whatever is raised in this block ends the program in good order."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except BaseException as error:  # noqa: BLE001  stop raises it again, or what the user is told
        name = ctx.invoked_subcommand if ctx is not None else None
        stop(error, lambda: _command(name).params if name else [])


def _steps(ctx: click.Context) -> AbstractContextManager[None]:
    """What shows steps and writes them down, where that is asked for."""
    verbose, log = ctx.params.get("verbose"), ctx.params.get("log")
    if not (verbose or log):
        return nullcontext()
    from opgen.cli.log import steps

    return steps(bool(verbose), log)


def _version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from opgen.model.version import VERSION

        click.echo(f"opgen {VERSION}")
        ctx.exit()


@click.command(
    cls=Commands,
    help=_HELP,
    epilog=_EPILOG,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show each step with its time.")
@click.option(
    "--log", metavar="FILE", help="Write each step, and each answer of a device, to this file."
)
def main(verbose: bool, log: str | None) -> None:  # noqa: D103  the help text is given above
    memory = resource.getrlimit(resource.RLIMIT_AS)[0]
    if memory != resource.RLIM_INFINITY and memory < LEAST_MEMORY:
        allowed, needed = memory >> 10, LEAST_MEMORY >> 10
        raise Stop(f"not enough memory: ulimit -v allows {allowed} kB, and opgen needs {needed}")
    # Read when numpy is imported, by no command before this. Work is spread by processes; threads
    # of OpenBLAS would only wait on each other over tiny products.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    write_any_text()
