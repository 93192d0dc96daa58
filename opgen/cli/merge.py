"""``opgen merge``: join the parts of a suite, or results of one bundle."""

from __future__ import annotations

import click

from opgen.cli import options


@click.command(
    epilog=options.examples(
        "opgen generate --shard 1/2 -o one.h5",
        "opgen generate --shard 2/2 -o two.h5",
        "opgen merge one.h5 two.h5 -o whole.h5",
        "opgen merge these.h5 others.h5 -o all.h5",
    )
)
@click.argument(
    "parts",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False),
)
@options.output_option(what="Bundle or results file to write.")
@options.force_option()
@options.quiet_option()
def command(parts: tuple[str, ...], output: str, force: bool, quiet: bool) -> None:
    """Join the parts of a suite, or results files of one bundle.

    The parts come from opgen generate --shard, in any order, each exactly once. The joined bundle
    has the same bytes as one written without --shard. Results files can be joined if they answer
    different cases of one bundle.
    """
    from pathlib import Path

    from opgen.bundle.format.dtypes import BundleError
    from opgen.bundle.read.opening import kind_of
    from opgen.bundle.results.joining import join
    from opgen.bundle.write.output import refuse
    from opgen.cli import console
    from opgen.generation.merging import merge
    from opgen.model import size
    from opgen.report.terminal import counted

    kinds = {kind_of(part): part for part in parts}
    if len(kinds) > 1:
        raise BundleError(
            f"{kinds['results']}: is a results file, and {kinds['bundle']} is a bundle; join files"
            " of one kind"
        )
    refuse(output, force)
    with console.progress("cases", None, quiet) as advance:
        (join if "results" in kinds else merge)(parts, output, force=force, progress=advance)
    console.note(
        f"{output}: {counted(len(parts), 'part')}, {size(Path(output).stat().st_size)}", quiet
    )
