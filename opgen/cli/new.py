"""``opgen new WHAT OP``: print a template for a plan, calls or a backend of your own."""

from __future__ import annotations

import click

from opgen.cli.options import complete_operators, examples


@click.command(
    epilog=examples(
        "opgen new plan avg_pool2d_backward > mine.yaml",
        "opgen new calls group_norm_backward > calls.jsonl",
        "opgen new backend reflection_pad2d_backward > mine.py",
    )
)
@click.argument("template", type=click.Choice(["plan", "calls", "backend"]))
@click.argument("operators", metavar="OP", shell_complete=complete_operators)
def command(template: str, operators: str) -> None:
    """Print a template for a plan, calls or a backend of your own.

    plan: the plan that opgen ships for the operator, or a template that extends the default plan.
    calls: a valid and an invalid call. backend: a class that runs the operator on your device, for
    --backend.
    """
    from opgen.lint.new_files import new_file

    click.echo(new_file(template, operators), nl=False)
