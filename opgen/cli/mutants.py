"""``opgen mutants``: measure which wrong devices a suite catches."""

from __future__ import annotations

from typing import Any

import click

from opgen.cli import options
from opgen.cli.number_types import Number


def complete_mutants(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The names of all mutants."""
    from opgen.quality.mutants import names

    return [name for name in names() if name.startswith(incomplete)]


@click.command(
    epilog=options.examples(
        "opgen mutants reflection_pad2d_backward",
        "opgen mutants --mutant ceil_unclipped --mutant corners_missing",
        "opgen mutants group_norm_backward --json",
        "opgen mutants avg_pool2d_backward --fail-under 60",
        "opgen mutants sigmoid_backward --plan standard --tiling 20",
    )
)
@options.operators_argument()
@options.product_option()
@options.edition_option()
@options.plan_option()
@click.option(
    "--mutant",
    "mutants",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_mutants,
    help="Only this mutant (repeatable).",
)
@click.option(
    "--tiling",
    metavar="N",
    type=click.IntRange(1, 10_000),
    help="Only N random devices that are wrong where a block of elements ends.",
)
@click.option(
    "--rules",
    is_flag=True,
    help="List every rule whose wrong check no case catches, with the reason.",
)
@click.option(
    "--fail-under",
    metavar="PERCENT",
    type=Number(0, 100),
    default=0.0,
    help="Exit 1 if the score is lower.",
)
@options.seed_option()
@options.json_option()
@options.quiet_option()
def command(
    mutants: tuple[str, ...],
    tiling: int | None,
    rules: bool,
    fail_under: float,
    seed: int,
    as_json: bool,
    quiet: bool,
    **asked: Any,
) -> None:
    """Measure which wrong devices a suite catches.

    A mutant is caught if opgen diff calls a case failed, crashed or missing. All others are listed
    with the reason. Exit 1 if a correct device fails too, or if the score is below --fail-under.

    With --mutant, the suite is that of the operators on which these mutants change something.

    With --tiling, opgen draws devices that compute in blocks of 2 to 8192 elements, and lose,
    repeat or shift some where a block ends. They depend on --seed, too.
    """
    from dataclasses import replace
    from pathlib import Path
    from tempfile import TemporaryDirectory

    import opgen
    from opgen.cli import console
    from opgen.cli.errors import DIFFERENCE
    from opgen.generation.bundle_file import write_suite
    from opgen.quality.mutants import ALL, find, refuse_idle
    from opgen.quality.mutants.tiling import drawn
    from opgen.quality.mutation_score import score
    from opgen.quality.tiling_score import tiling_score
    from opgen.report import mutants as report
    from opgen.report.layout import Paragraph, show
    from opgen.suite.selection import Request

    named = [find(name) for name in mutants]
    options.only_one(mutant=mutants, tiling=tiling)
    request = Request(**asked)
    pages = [] if request.files else [spec for spec, _ in request.pages()[0]]
    changed = [spec.op for spec in pages if any(mutant.applies(spec) for mutant in named)]
    request = replace(request, operators=changed or request.operators)
    suite = console.enumerated(request, quiet, announce=not as_json)
    refuse_idle(named, [*suite.specs.values()])
    with TemporaryDirectory(prefix="opgen-mutants-") as folder:
        path = Path(folder) / "suite.h5"
        with console.progress("cases", 2 * len(suite.cases), quiet) as advance:
            write_suite(request, suite, path, seed=seed, progress=advance)
            with opgen.open(path) as bundle:
                scored = (
                    tiling_score(bundle, drawn(tiling, seed), advance)
                    if tiling
                    else score(bundle, named or list(ALL), advance)
                )
    if as_json:
        console.json_text({"plan": request.calls or request.plan, **report.as_data(scored)})
    else:
        out = console.output()
        show(out, *report.as_tables(scored, rules, caught=not tiling), apart=True)
        show(out, *map(Paragraph, report.summary(scored, request.calls or request.plan)))
    if scored.control or scored.percent < fail_under:
        raise click.exceptions.Exit(DIFFERENCE)
