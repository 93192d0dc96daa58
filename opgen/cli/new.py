"""``opgen new WHAT OP``: print a template for a plan, calls, a backend or a runner."""

from __future__ import annotations

import click

from opgen.cli.completion import complete_operators
from opgen.cli.options import examples

FILES = ("runner.py", "runner.cpp")
"""What is printed as it is, whatever the operator."""


@click.command(
    epilog=examples(
        "opgen new plan avg_pool2d_backward > mine.yaml",
        "opgen new calls group_norm_backward > calls.jsonl",
        "opgen new backend reflection_pad2d_backward > mine.py",
        "opgen new runner reflection_pad2d_backward > my_device.py",
        "opgen new runner.py > runner.py",
    )
)
@click.argument("template", type=click.Choice(["plan", "calls", "backend", "runner", *FILES]))
@click.argument("operators", metavar="OP", default="", shell_complete=complete_operators)
def command(template: str, operators: str) -> None:
    """Print a template for a plan, calls, a backend or a runner.

    plan: the plan that opgen ships for the operator, or a template that extends the default plan.
    calls: a valid and an invalid call. backend: a class that runs the operator on your device, for
    --backend. runner: a module that does so on a board without opgen. It needs runner.py there, for
    --backend 'cmd:ssh board python3 runner.py my_device'. runner.py and runner.cpp are printed
    without OP.
    """
    if (template in FILES) == bool(operators):
        raise click.UsageError(
            f"{template}: takes no OP" if operators else "Missing argument 'OP'."
        )
    if operators:
        from opgen.lint.new_files import new_file

        click.echo(new_file(template, operators), nl=False)
        return
    from importlib.resources import files

    click.echo(files("opgen.devices").joinpath(template).read_text(encoding="utf-8"), nl=False)
