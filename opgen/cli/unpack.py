"""``opgen unpack``: write a bundle as HDF5 groups, one for each case, to browse."""

from __future__ import annotations

import click

from opgen.cli import options
from opgen.cli.choosing import choose_of


@click.command(
    epilog=options.examples(
        "opgen unpack suite.h5 -o tree.h5", "opgen unpack suite.h5 --case 'avg_pool2d*' -o pool.h5"
    )
)
@options.file_argument("bundle", "BUNDLE")
@options.output_option(what="HDF5 file to write.")
@options.case_option()
@options.where_option()
@options.force_option()
@options.quiet_option()
def command(
    bundle: str, output: str, cases: tuple[str, ...], where: str, force: bool, quiet: bool
) -> None:
    """Write a bundle as HDF5 groups, one for each case, to browse.

    Any HDF5 viewer opens the file. The attributes of a group are the facts of its case. The group
    holds the groups arguments, inputs, storage, golden and bound.
    """
    import opgen
    from opgen.bundle.read.unpack import unpack
    from opgen.cli import console
    from opgen.report.terminal import counted

    with opgen.open(bundle) as opened:
        written = unpack(opened, output, choose_of(opened, cases, where), force=force)
    console.note(f"{output}: {counted(written, 'case')}", quiet)
