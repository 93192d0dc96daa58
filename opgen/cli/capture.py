"""``opgen capture PROGRAM``: write the calls that a torch program makes."""

from __future__ import annotations

import click

from opgen.cli import options
from opgen.cli.completion import complete_products


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog=options.examples(
        "opgen capture --product ascend910b -o layers.jsonl train.py --steps 1",
        "opgen capture --data -o layers.jsonl train.py",
    ),
)
@click.option(
    "--product",
    metavar="P",
    default="ascend910b",
    show_default=True,
    shell_complete=complete_products,
    help="Product that the calls are for.",
)
@options.output_option(what="Call file to write.")
@click.option(
    "--data",
    is_flag=True,
    help="Keep the inputs of each call in a folder beside the call file.",
)
@options.force_option()
@options.quiet_option()
@click.argument("program", metavar="PROGRAM", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
def command(
    product: str,
    output: str,
    data: bool,
    force: bool,
    quiet: bool,
    program: str,
    arguments: tuple[str, ...],
) -> None:
    """Run a Python program, and write the calls of operators that opgen knows to a call file.

    The program needs torch and no device. opgen generate --calls makes cases of the calls. Equal
    calls are one line, with their count. opgen counts torch operators that it does not know. If the
    program fails, opgen keeps the calls so far, shows the program's traceback, and exits 1.
    """
    import runpy
    import sys
    import traceback
    from pathlib import Path
    from unittest import mock

    from opgen.cli import console
    from opgen.cli.errors import DIFFERENCE
    from opgen.devices import DeviceError
    from opgen.report.terminal import counted

    try:
        from opgen.devices.recording import capture
    except ModuleNotFoundError as error:
        text = f"needs {error.name}, which is not installed: pip install {error.name}"
        raise DeviceError("opgen capture", text) from None

    path = [str(Path(program).resolve().parent), *sys.path]
    failed = False
    with (
        mock.patch.object(sys, "argv", [program, *arguments]),
        mock.patch.object(sys, "path", path),
        capture(output, product, data=data, force=force) as seen,
    ):
        try:
            runpy.run_path(program, run_name="__main__")
        except SystemExit as end:
            failed = end.code not in (None, 0)
            if isinstance(end.code, str):
                click.echo(end.code, err=True)
        except Exception as error:  # noqa: BLE001  whatever the program raises is its own
            failed = True
            own = error.__traceback__
            while own is not None and own.tb_frame.f_code.co_filename != program:
                own = own.tb_next
            click.echo("".join(traceback.format_exception(error.with_traceback(own))), err=True)
    console.note(
        f"{output}: {counted(len(seen.lines), 'call')}, which came"
        f" {counted(seen.counts.total(), 'time')}",
        quiet,
    )
    for (name, why), count in seen.unwritable.most_common():
        console.note(f"{output}: {name} left out {counted(count, 'time')}: {why}", quiet)
    if seen.unknown:
        names = sorted(seen.unknown.items(), key=lambda item: ("backward" not in item[0], -item[1]))
        told = ", ".join(f"{name} ({count})" for name, count in names)
        console.note(f"unknown torch operators, and how often they came: {told}", quiet)
    if failed:
        raise click.exceptions.Exit(DIFFERENCE)
