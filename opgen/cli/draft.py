"""``opgen draft``: write a spec from a vendor's page."""

from __future__ import annotations

import click

from opgen.cli import options


@click.command(
    epilog=options.examples(
        "opgen draft page.md --edition 2026-08",
        "opgen draft page.md -o my_tent.yaml",
        "opgen draft page.md --from draft.yaml --edition 2026-09 -o my_tent.2026-09.yaml",
    )
)
@options.file_argument("page", "PAGE")
@click.option(
    "--from",
    "older",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Carry over what a person decided in the spec of an older edition.",
)
@click.option("--edition", metavar="E", default="", help="The edition of the page.")
@options.output_option(
    "Spec file to write.  [default: specs/OPERATOR.yaml; with --from specs/OPERATOR.E.yaml]",
    required=False,
)
@options.force_option()
@options.quiet_option()
def command(
    page: str, older: str | None, edition: str, output: str | None, force: bool, quiet: bool
) -> None:
    """Write a spec from a vendor's page.

    PAGE is in Markdown or in the older flattened text. opgen transcribes the sentences that leave
    no doubt. It lists every other sentence that may constrain a call under todo, with its line and
    the names in it. "opgen check --todo --pages DIR" shows these sentences. Decide about each, then
    delete its entry.

    With --from, facts keep the names that the older spec gives them, and get the lines and codes of
    PAGE. Facts that opgen does not find in PAGE are carried over, and listed under todo too.
    """
    from pathlib import Path

    from opgen.bundle.write.output import write_text
    from opgen.cli import console
    from opgen.report.terminal import counted
    from opgen.spec.drafting.draft import draft
    from opgen.spec.drafting.next_edition import next_edition
    from opgen.spec.drafting.rule_ids import rule_ids
    from opgen.spec.drafting.writing import spec_name, spec_text
    from opgen.spec.pages.reading import read_page
    from opgen.spec.specfile import undecided

    if older and not edition:
        raise click.UsageError("--from needs --edition, the edition of the newer page")
    drafted, source = draft(read_page(page), page), Path(page)
    name = spec_name(drafted.api)
    target = Path(output or f"specs/{f'{name}.{edition}' if older else name}.yaml")
    text = spec_text(drafted, source.name, source.read_bytes(), edition)
    if older:
        text = next_edition(Path(older), text, source.read_bytes())
    if output is None:
        target.parent.mkdir(exist_ok=True)
    write_text(target, text, force=force)
    if older:
        left = counted(len(undecided(target)[1]), "line")
        console.note(f"{target}: {left} to decide", quiet)
        return
    rules = counted(len(rule_ids(drafted.facts)) + 1, "rule")
    left = counted(len(drafted.facts.undecided), "line")
    console.note(f"{target}: {rules}, {left} to decide", quiet)
