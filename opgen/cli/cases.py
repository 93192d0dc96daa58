"""``opgen cases``: list what would be generated."""

from __future__ import annotations

from typing import Any

import click

from opgen.cli import options


@click.command(
    epilog=options.examples(
        "opgen cases",
        "opgen cases --plan standard group_norm_backward",
        "opgen cases reflection_pad2d_backward --ids",
        "opgen cases avg_pool2d_backward --json",
        "opgen cases reflection_pad2d_backward --plan standard --seed-calls calls.jsonl",
    )
)
@options.suite_options()
@click.option("--ids", is_flag=True, help="Print a line per case: its id and its purpose.")
@options.json_option()
@options.quiet_option()
def command(ids: bool, as_json: bool, quiet: bool, **asked: Any) -> None:
    """List what would be generated: counts, the size of the bundle, and the rules that are broken.

    The second table counts the rules that a call can break (rules to break), and those that the
    suite breaks (broken). A broken rule is isolated if some call breaks it alone, and counts under
    "with others" if every call that breaks it breaks another rule too. A rule is unreachable if no
    call of the suite breaks it. --json adds the cases that break each rule, or the reason why none
    does.
    """
    from opgen.cli import console
    from opgen.cli.generate import summary_table
    from opgen.generation.resources import needs
    from opgen.model import size
    from opgen.quality.suite_summary import summarize
    from opgen.report import terminal
    from opgen.report.layout import Paragraph, TextTable, show
    from opgen.suite.selection import Request

    options.only_one(ids=ids, json=as_json)
    suite = console.enumerated(
        Request(**asked),
        quiet,
        announce=not (ids or as_json or asked["calls"]),
        left_out=not ids,
    )
    if ids:
        for name, intent in zip(suite.cases.id, suite.cases.intent, strict=True):
            click.echo(f"{terminal.visible(name)}\t{terminal.visible(intent)}")
        return
    counted = summarize(suite) | needs(suite)._asdict()
    if as_json:
        console.json_text(counted)
        return
    tables = [summary_table(counted["counts"])]
    if suite.reports:
        heads = ("rules to break", "broken", "isolated", "with others", "unreachable")
        rows = []
        for name, page in counted["pages"].items():
            others, unreachable = page["with_others"], page["unreachable"]
            broken = len(page["rules"]) - unreachable
            rows.append((name, len(page["rules"]), broken, broken - others, others, unreachable))
        tables.append(TextTable("page", *heads, rows=rows, right=heads))
    show(console.output(), *tables)
    about = (
        f"{terminal.counted(counted['cases'], 'case')}, {counted['with_data']} with data,"
        f" {counted['inconclusive']} inconclusive"
    )
    about += f", about {size(counted['bytes'])}"
    show(console.output(), Paragraph(about))
