"""``opgen minimize BUNDLE RESULTS ID|GLOB``: reduce a failing case to the simplest one."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Unpack

import click
from click.core import ParameterSource

from opgen.cli.completion import complete_cases
from opgen.cli.options import (
    backend_options,
    examples,
    file_argument,
    force_option,
    output_option,
    quiet_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from opgen.devices import Settings
    from opgen.minimization.failure import Failure


@click.command(
    epilog=examples(
        "opgen minimize suite.h5 broken.h5 'avg_pool2d_*' --backend mutant:channel_block_lost -o"
        " fault"
    )
)
@file_argument("bundle", "BUNDLE")
@file_argument("results", "RESULTS")
@click.argument("case", metavar="ID|GLOB", shell_complete=complete_cases)
@backend_options()
@click.option(
    "--most",
    metavar="N",
    type=click.IntRange(min=1),
    default=3000,
    show_default=True,
    help="Run about N calls at most.",
)
@output_option("Folder to write; ./ID-minimal by default.", "DIR", required=False)
@click.option(
    "--any-backend", is_flag=True, help="Accept results of another backend or another device."
)
@force_option()
@quiet_option()
def command(
    bundle: str,
    results: str,
    case: str,
    most: int,
    any_backend: bool,
    output: str | None,
    force: bool,
    quiet: bool,
    backend: str,
    **settings: Unpack[Settings],
) -> None:
    """Reduce a failing case to the simplest one that still fails.

    Of several cases, opgen takes the first one that fails, with finite data if possible. It makes
    extents, channels, groups, strides, views, masks and data simpler. It tries only calls that
    break the same rules as the failing case (none, if that is legal). opgen writes the simplest
    call as JSON, and as programs that show the fault without opgen: in C++ and Python, for the
    vendor's library, and, if torch has the operator, with torch.
    """
    from pathlib import Path

    import opgen
    from opgen.cli.choosing import choose
    from opgen.cli.console import note
    from opgen.interop.folder import check, file_name, new_folder
    from opgen.minimization import files, torch_program
    from opgen.minimization.failing_case import first_failing
    from opgen.spec.catalog import edition_of

    with opgen.open(bundle) as file:
        failed = first_failing(file, results, choose(file.ids, [case], "ID|GLOB"))
        call, edition = file[failed].asked, edition_of(file.header)
    folder = Path(output or f"{file_name(failed)}-minimal")
    check(folder, force)

    def tell(failure: Failure) -> None:
        nonlocal call
        changed = [name for name, value in failure.call.args.items() if value != call.args[name]]
        call = failure.call
        note(f"simpler {', '.join(changed)}: {_said(failure)}", quiet)

    note(f"reducing {failed} ...", quiet)
    minimal = opgen.minimize(
        bundle,
        results,
        failed,
        backend,
        most=most,
        any_backend=any_backend,
        progress=tell,
        **settings,
    )
    texts = files(minimal.failure)
    about = {"format": "opgen export minimal", "case": failed}
    with new_folder(folder, about, force) as made:
        for name, text in texts.items():
            (made / name).write_text(text, encoding="utf-8")
    note(f"simplest: {_said(minimal.failure)}", quiet)
    if minimal.failure.own:
        note(
            f"{failed}: the fault needs the data of the case; they are in the programs, and"
            " call.json draws others",
            quiet,
        )
    else:
        note("to see the fault again:", quiet)
        drawn = [*minimal.failure.options, *(("--edition", edition) if edition else ())]
        for line in _again(folder, drawn, [*_given(("backend", *settings))]):
            note(f"  {line}", quiet)
    note(
        f"{folder}: {', '.join(texts)}; {minimal.before} elements before,"
        f" {minimal.failure.elements} now, {minimal.ran} calls run",
        quiet,
    )
    reason = torch_program.why_not(minimal.failure)
    if reason:
        note(f"no repro_torch.py: {reason}", quiet)
    click.echo(texts["call.json"], nl=False)


def _said(failure: Failure) -> str:
    return f"{failure.elements} elements: {failure.detail or failure.verdict}"


def _given(names: Iterable[str]) -> Iterator[str]:
    """The options that somebody gave to this command, of some parameters."""
    context = click.get_current_context()
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name in names and source is not ParameterSource.DEFAULT:
            yield from (option.opts[0], str(context.params[option.name]))


def _again(folder: Path, drawn: Sequence[str], device: Sequence[str]) -> list[str]:
    """The commands that make a bundle of the simplest call, run it on the device, and judge it."""
    bundle, results = f"{folder}.h5", f"{folder}.results.h5"
    commands = (
        ["generate", "--calls", f"{folder}/call.json", *drawn, "-o", bundle],
        ["run", bundle, *device, "-o", results],
        ["diff", bundle, results],
    )
    return [shlex.join(["opgen", *words]) for words in commands]
