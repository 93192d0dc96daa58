"""``opgen export FORMAT FILE``: write a bundle in another tool's format."""

from __future__ import annotations

import click

from opgen.cli import options
from opgen.cli.choosing import choose_of

FORMATS = ("atk", "gtest", "npz", "ttk")


@click.command(
    epilog=options.examples(
        "opgen export ttk suite.h5 -o for_ttk",
        "opgen export gtest suite.h5 --case 'avg_pool2d*' -o test_pool.cpp",
        "opgen export npz suite.h5 -o arrays",
    )
)
@click.argument("format", type=click.Choice(FORMATS))
@options.file_argument("bundle", "BUNDLE")
@options.output_option("Folder to write; for gtest, the C++ file.", "FILE|DIR")
@options.case_option()
@options.where_option()
@options.force_option()
@options.quiet_option()
def command(
    format: str,
    bundle: str,
    output: str,
    cases: tuple[str, ...],
    where: str,
    force: bool,
    quiet: bool,
) -> None:
    """Write a bundle in another tool's format.

    atk: case files, and an executor that loads the stored inputs and goldens. gtest: one C++ file
    that tests the statuses of both phases. npz: numpy's files, and a line of JSON per case. ttk: a
    case table and the data for it. opgen leaves out cases that the tool cannot hold, and counts
    them by reason. Their ids are in opgen.json in the folder.
    """
    from importlib import import_module
    from pathlib import Path

    import opgen
    from opgen.bundle.write.output import refuse
    from opgen.cli import console
    from opgen.interop import folder
    from opgen.report.terminal import counted

    if format == "gtest":
        refuse(output, force)
    else:
        folder.check(Path(output), force)
    with opgen.open(bundle) as opened:
        written = import_module(f"opgen.interop.{format}_export").export(
            opened, output, choose_of(opened, cases, where), force
        )
    for reason, ids in written.left_out.items():
        console.note(f"left out: {reason} ({len(ids)})", quiet)
    console.note(f"{output}: {counted(len(written.cases), 'case')}", quiet)
