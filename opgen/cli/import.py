"""``opgen import FORMAT FILE``: make calls from another tool's cases."""

from __future__ import annotations

import click

from opgen.cli import options
from opgen.cli.completion import complete_products

FORMATS = ("atk", "ttk")


@click.command(
    epilog=options.examples(
        "opgen import atk cases.json --product ascend910b --product ascend310p -o calls.jsonl",
        "opgen import ttk cases.csv -o calls.jsonl",
    )
)
@click.argument("format", type=click.Choice(FORMATS))
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False))
@click.option(
    "--product",
    "products",
    metavar="P",
    multiple=True,
    shell_complete=complete_products,
    help="Product of the calls (repeatable); needed if the file names none.",
)
@options.edition_option()
@options.output_option(what="Call file to write; - is standard output.", dash=True)
@options.force_option()
@options.quiet_option()
def command(
    format: str,
    file: str,
    products: tuple[str, ...],
    edition: str,
    output: str,
    force: bool,
    quiet: bool,
) -> None:
    """Make calls from another tool's cases: ATK's JSON or TTK's CSV (aclnn or kernel mode).

    opgen keeps shapes, dtypes, formats and attributes, but not values. opgen judge, opgen
    generate --calls and opgen coverage --calls read the calls. opgen names each case that it cannot
    read, with the reason. Exit 1 if there is one, 2 if no case can be read.
    """
    from opgen.bundle.write.output import refuse, write_text
    from opgen.cli import console
    from opgen.cli.errors import BAD, DIFFERENCE
    from opgen.interop import atk_import, ttk_import
    from opgen.report.terminal import counted
    from opgen.spec.catalog import catalog

    if output != "-":
        refuse(output, force)
    imported = (atk_import if format == "atk" else ttk_import).read(
        file, catalog(edition), products
    )
    lines = imported.lines
    for problem in imported.unreadable:
        console.note(str(problem))
    for problem in imported.left_out:
        console.note(f"{problem} (left out)", quiet)
    text = "".join(f"{line}\n" for line in lines)
    if lines and output == "-":
        click.echo(text, nl=False)
    elif lines:
        write_text(output, text, force=force)
    if imported.ignored:
        keys = ", ".join(f"{key} ({count})" for key, count in imported.ignored.most_common())
        console.note(f"not carried over: {keys}", quiet)
    summary = (
        f"{counted(len(lines), 'call')} of {counted(imported.cases, 'case')},"
        f" {len(imported.unreadable)} unreadable, {len(imported.left_out)} left out"
    )
    noted = f", {imported.noted} with notes (key notes)" if imported.noted else ""
    console.note(f"{output if lines else file}: {summary}{noted}", quiet)
    if imported.unreadable:
        raise click.exceptions.Exit(DIFFERENCE if lines or imported.left_out else BAD)
