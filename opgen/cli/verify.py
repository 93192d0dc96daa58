"""``opgen verify``: check the integrity of a file."""

from __future__ import annotations

import click

from opgen.cli import options
from opgen.cli.errors import DIFFERENCE


@click.command(
    epilog=options.examples(
        "opgen verify suite.h5", "opgen verify torn.h5               # exit 1, with what is damaged"
    )
)
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False),
)
@options.quiet_option()
def command(files: tuple[str, ...], quiet: bool) -> None:
    """Check the integrity of bundles and results files.

    A file is whole if every byte matches the digests in the file, and sound if its contents make
    sense. Exit 1 if a file is damaged or unsound.
    """
    from opgen.bundle.read.verify import verify
    from opgen.cli import console

    damaged = False
    for path in files:
        faults = verify(path)
        for line in faults or [f"{path}: whole and sound"]:
            console.note(line, quiet and not faults)
        damaged |= bool(faults)
    if damaged:
        raise click.exceptions.Exit(DIFFERENCE)
