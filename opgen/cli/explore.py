"""``opgen explore OP --backend B``: draw calls at random, and reduce those that fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from opgen.cli.completion import complete_operators
from opgen.cli.number_types import Number
from opgen.cli.options import backend_options, edition_option, examples, output_option, quiet_option

if TYPE_CHECKING:
    from opgen.devices import Settings
    from opgen.minimization.exploring import Explored

MINUTES = 2.0
"""Minutes to draw for, where neither these nor a number of calls are asked for."""
BETWEEN = 10.0
"""Seconds between two reports of what was covered."""


@click.command(
    epilog=examples(
        "opgen explore reflection_pad2d_backward --backend mutant:nothing --draws 200",
        "opgen explore elu_backward --backend mutant:one_wrong_element --causes 1 -o my.jsonl"
        "  # exit 1",
        "opgen generate --calls my.jsonl -o my.h5",
    )
)
@click.argument(
    "operators", metavar="OP...", nargs=-1, required=True, shell_complete=complete_operators
)
@backend_options()
@edition_option()
@click.option(
    "--minutes",
    metavar="M",
    type=Number(min=0, min_open=True),
    help=f"Stop after M minutes; by default {MINUTES:g}, or never if --draws is given.",
)
@click.option("--draws", metavar="N", type=click.IntRange(1), help="Stop after drawing N calls.")
@click.option(
    "--causes", metavar="N", type=click.IntRange(1), help="Stop after reducing N failures."
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Seed of the calls; with the same seed and --draws, opgen draws the same calls.",
)
@click.option("--invalid", is_flag=True, help="Draw calls that break one rule, not legal ones.")
@output_option(
    "Call file to add the reduced calls to; they are printed by default.", required=False
)
@quiet_option()
def command(
    operators: tuple[str, ...],
    backend: str,
    edition: str,
    minutes: float | None,
    draws: int | None,
    causes: int | None,
    seed: int,
    invalid: bool,
    output: str | None,
    quiet: bool,
    **settings: Unpack[Settings],
) -> None:
    """Draw calls of operators at random, run them, judge the answers, and reduce what fails.

    A plan tries a few values of each name. explore draws legal calls with any values. Many are at
    the limits of rules, or at sizes at which devices begin to compute in another way. If a failure
    is of a new kind, opgen reduces it, as opgen minimize does, and writes the simplest call as a
    line of a call file. opgen generate --calls makes a suite of this file. Exit 1 if a call failed.
    """
    import json
    from math import inf
    from time import monotonic

    from opgen.cli.console import note
    from opgen.cli.errors import DIFFERENCE
    from opgen.minimization.exploring import explore
    from opgen.minimization.regressions import Regressions

    file = Regressions(output, edition) if output else None
    said, known = monotonic(), 0

    def tell(explored: Explored) -> None:
        nonlocal said, known
        for cause in explored.causes[known:]:
            failure = cause.failure
            note(f"{failure.id}: {failure.detail or failure.verdict}", quiet)
            if file is None:
                click.echo(json.dumps(cause.line))
            elif not file.add(cause.line):
                note(f"{output}: has this call already", quiet)
        known = len(explored.causes)
        if monotonic() >= said + BETWEEN:
            said = monotonic()
            note(_summary(explored), quiet)

    explored = explore(
        operators,
        backend,
        minutes=minutes,
        draws=draws or inf,
        causes=causes or inf,
        seed=seed,
        invalid=invalid,
        edition=edition,
        progress=tell,
        **settings,
    )
    note(_summary(explored), quiet)
    if explored.failed:
        raise click.exceptions.Exit(DIFFERENCE)


def _summary(explored: Explored) -> str:
    from opgen.report.terminal import counted

    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in explored.verdicts.items())
    reduced = counted(len(explored.causes), "failure")
    return (
        f"{counted(explored.calls, 'call')}: {verdicts}; {explored.values:,} different values"
        f" of arguments, {explored.pairs:,} different pairs of extents; {reduced} reduced"
    )
