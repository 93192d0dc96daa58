"""``opgen compare BEFORE AFTER``: say what changed between two reports."""

from __future__ import annotations

import click

from opgen.cli import DIFFERENCE
from opgen.cli.options import all_option, examples, file_argument, json_option

SHOWN = 20
"""Changes of a kind that are listed one by one, unless all are asked for; the rest is counted."""


@click.command(epilog=examples("opgen compare before.json after.json"))
@file_argument("before", "BEFORE")
@file_argument("after", "AFTER")
@click.option(
    "--strict",
    is_flag=True,
    help="Let lenient, unusual and known deviating cases fail.",
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
    """
    from opgen.cli.console import json_text, note, output
    from opgen.comparison.changes import compare_reports
    from opgen.report import data
    from opgen.report.terminal import visible

    compared = compare_reports(data.read(before), data.read(after), strict)
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
