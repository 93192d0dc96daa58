"""``opgen compare BEFORE AFTER``: say what changed between two reports."""

from __future__ import annotations

import click

from opgen.cli import DIFFERENCE
from opgen.cli.options import all_option, examples, json_option

SHOWN = 20
"""Changes of a kind that are listed one by one, unless all are asked for; the rest is counted."""


@click.command(epilog=examples("opgen compare before.json after.json"))
@click.argument("before", metavar="BEFORE", type=click.Path(exists=True, dir_okay=False))
@click.argument("after", metavar="AFTER", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--strict", is_flag=True, help="Count lenient cases and known deviations as failures."
)
@all_option("List every change, not only the first few.")
@json_option()
def command(before: str, after: str, strict: bool, everything: bool, as_json: bool) -> None:
    """Say what changed between two reports of opgen diff --json.

    Exit 1 if a case newly fails.
    """
    from opgen.cli.console import json_text, note, output
    from opgen.comparison.changes import VerdictChange, compare_reports
    from opgen.report import data

    compared = compare_reports(data.read(before), data.read(after), strict)
    lists = {
        "newly failing": compared.failing,
        "fixed": compared.fixed,
        "newly waived": compared.waived,
        "other verdict": compared.other,
        "new cases": compared.added,
        "no longer there": compared.removed,
        "error grew": compared.worse_ratio,
    }
    if as_json:

        def plain(change: VerdictChange) -> dict[str, str | None]:
            return {
                "case": change.case,
                **dict(zip(("before", "after"), change.verdicts, strict=True)),
            }

        json_text(
            {name: [plain(change) for change in changes] for name, changes in lists.items()}
            | {"unchanged": compared.unchanged}
        )
    else:
        console = output()
        for name, changes in lists.items():
            shown = changes if everything else changes[:SHOWN]
            for change in shown:
                console.print(f"{name:15}  {change}", markup=False, soft_wrap=True)
            if len(changes) > len(shown):
                console.print(
                    f"{name:15}  ... and {len(changes) - len(shown)} more: --all lists them",
                    markup=False,
                )
        counts = ", ".join(f"{len(changes)} {name}" for name, changes in lists.items() if changes)
        console.print(
            f"{counts + ', ' if counts else ''}{compared.unchanged} unchanged", markup=False
        )
    note(
        "the reports are about different bundles: equal ids are taken for equal cases",
        compared.same_bundle,
    )
    if compared.failing:
        raise click.exceptions.Exit(DIFFERENCE)
