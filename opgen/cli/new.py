"""``opgen new WHAT OP``: print the start of a plan, of calls or of a backend of your own."""

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
@click.argument("op", shell_complete=complete_operators)
def command(template: str, op: str) -> None:
    """Print the start of a plan, of calls or of a backend of your own.

    plan: the plan that opgen ships for the operator, or a start that extends the plan that follows
    from its page. calls: a valid and an invalid call. backend: a class that runs the operator on
    your device, for --backend.
    """
    from opgen.lint.starts import start

    click.echo(start(template, op), nl=False)
