"""``opgen compare BEFORE AFTER``: say what changed between two reports."""

from __future__ import annotations

import click

from opgen.cli.errors import DIFFERENCE
from opgen.cli.options import all_option, examples, json_option

SHOWN = 20
"""Changes of a kind that are listed one by one, unless all are asked for; the rest is counted."""


@click.command(
    epilog=examples("opgen compare before.json after.json", "opgen compare learnt-1 learnt-2")
)
@click.argument("before", metavar="BEFORE", type=click.Path(exists=True))
@click.argument("after", metavar="AFTER", type=click.Path(exists=True))
@click.option(
    "--strict",
    is_flag=True,
    help="Count lenient, unusual and known deviation as failures.",
)
@click.option(
    "--allow-removed",
    is_flag=True,
    help="Do not exit 1 because of cases that passed and are not in the new bundle.",
)
@all_option("List every change, not only the first few.")
@json_option()
def command(
    before: str,
    after: str,
    strict: bool,
    allow_removed: bool,
    everything: bool,
    as_json: bool,
) -> None:
    """Say what changed between two reports that opgen diff --json printed.

    Exit 1 if a case newly fails, or if one that passed is now missing, skipped or inconclusive.

    BEFORE and AFTER may also be folders of errata that opgen learn -o wrote. Then opgen lists the
    entries that differ between two releases of the library, and exits 1 if there are any.
    """
    from pathlib import Path

    folders = [Path(path).is_dir() for path in (before, after)]
    if any(folders):
        if not all(folders):
            raise click.UsageError("a folder of errata is compared with another folder")
        _compare_releases(before, after, everything, as_json)
        return
    from opgen.cli.console import json_text, note, output
    from opgen.comparison.changes import compare_reports
    from opgen.files.textfile import read_text
    from opgen.report.data import parse
    from opgen.report.terminal import visible

    earlier, later = (parse(read_text(path), path) for path in (before, after))
    compared = compare_reports(earlier, later, strict)
    if as_json:
        plain = {
            kind: [
                {"case": change.case, "before": change.verdicts[0], "after": change.verdicts[1]}
                for change in changes
            ]
            for kind, changes in compared.kinds.items()
        }
        json_text(plain | {"unchanged": compared.unchanged})
    else:
        console = output()
        for kind, changes in compared.kinds.items():
            shown = changes if everything else changes[:SHOWN]
            lines = [visible(change) for change in shown]
            if len(changes) > len(shown):
                lines.append(f"... and {len(changes) - len(shown)} more: --all lists them")
            for line in lines:
                console.print(f"{kind:16}  {line}", markup=False, soft_wrap=True)
        counts = [f"{len(some)} {kind}" for kind, some in compared.kinds.items() if some]
        console.print(", ".join([*counts, f"{compared.unchanged} unchanged"]), markup=False)
    note(
        "the reports are about different bundles: equal ids are taken for equal cases",
        compared.same_bundle,
    )
    if compared.worse(allow_removed):
        raise click.exceptions.Exit(DIFFERENCE)


def _compare_releases(before: str, after: str, everything: bool, as_json: bool) -> None:
    """Say which entries of two folders of errata differ; exit 1 where any does."""
    from opgen.cli.console import json_text, output
    from opgen.oracle.errata_folder import errata_of
    from opgen.oracle.release_changes import changes

    found = list(changes(errata_of(before), errata_of(after)))
    if as_json:
        json_text({"changes": [{**vars(each), "kind": each.kind} for each in found]})
    else:
        console = output()
        for each in found if everything else found[:SHOWN]:
            sides = [text for text in (each.before, each.after) if text is not None]
            text = f"{each.kind:8}  {each.page}  {each.id}: {' -> '.join(sides)}"
            console.print(text, markup=False, soft_wrap=True)
        if len(found) > SHOWN and not everything:
            console.print(f"... and {len(found) - SHOWN} more: --all lists them", markup=False)
        console.print(f"{len(found)} entries differ", markup=False)
    if found:
        raise click.exceptions.Exit(DIFFERENCE)
