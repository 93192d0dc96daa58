"""``opgen minimize BUNDLE RESULTS ID|GLOB``: reduce a failing case to the simplest one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from opgen.cli.options import (
    backend_options,
    complete_cases,
    examples,
    file_argument,
    force_option,
    output_option,
    quiet_option,
)

if TYPE_CHECKING:
    from opgen.devices import Settings


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

    Of several cases, opgen takes the first one that fails. It makes extents, channels, groups,
    strides, views, masks and data simpler. The page expects the same answer to
    every call that opgen tries. opgen writes the simplest call as JSON, and as programs that show
    the fault without opgen: in C++, in Python and, if torch has the operator, with torch.
    """
    from pathlib import Path

    import opgen
    from opgen.cli.choosing import choose
    from opgen.cli.console import note
    from opgen.interop.folder import check, file_name, new_folder
    from opgen.minimization import files, torch_program
    from opgen.minimization.failing_case import first_failing
    from opgen.minimization.failure import Failure

    with opgen.open(bundle) as file:
        failed = first_failing(file, results, choose(file.ids, [case], "ID|GLOB"))
        call = file[failed].asked
    folder = Path(output or f"{file_name(failed)}-minimal")
    check(folder, force)

    def tell(failure: Failure) -> None:
        nonlocal call
        changed = [name for name, value in failure.call.args.items() if value != call.args[name]]
        call = failure.call
        said = f"{failure.elements} elements: {failure.detail or failure.verdict}"
        note(f"simpler {', '.join(changed)}: {said}", quiet)

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
    if minimal.failure.own:
        note(
            f"{failed}: the fault needs the data of the case; they are in the programs, and"
            " call.json draws others",
            quiet,
        )
    elif options := minimal.failure.options:
        note(
            f"call.json: opgen generate --calls draws the data that show the fault with {options}",
            quiet,
        )
    note(
        f"{folder}: {', '.join(texts)}; {minimal.before} elements before,"
        f" {minimal.failure.elements} now, {minimal.ran} calls run",
        quiet,
    )
    reason = torch_program.why_not(minimal.failure)
    if reason:
        note(f"no repro_torch.py: {reason}", quiet)
    click.echo(texts["call.json"], nl=False)
