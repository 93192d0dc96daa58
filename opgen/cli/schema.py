"""``opgen schema``: print the schema of specs, plans or calls, for editors."""

from __future__ import annotations

import click

from opgen.cli import options


@click.command(
    epilog=options.examples("opgen schema spec", "opgen schema plan", "opgen schema call")
)
@click.argument("what", type=click.Choice(["spec", "plan", "call"]))
def command(what: str) -> None:
    """Print a JSON Schema, with which editors check and complete what you type."""
    from opgen.cli import console
    from opgen.lint.schema import schema

    console.json_text(schema(what))
