"""``opgen generate``: write a suite as a bundle."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import click

from opgen.cli import options
from opgen.model import KINDS, size

if TYPE_CHECKING:
    from opgen.report.layout import TextTable

MANY = 10
"""Operators in a table that has a row for each of their products, at most."""


@click.command(
    epilog=options.examples(
        "opgen generate",
        "opgen generate avg_pool2d_backward --product ascend910b -o pool.h5",
        "opgen generate --plan standard aclnnReflectionPad2dBackward -o pad.h5",
        "opgen generate --case '*.invalid.pad_height.*' -o height.h5",
    )
)
@options.suite_options()
@options.seed_option()
@options.output_option(what="Bundle to write; opgen-PLAN.h5 by default.", required=False)
@options.force_option()
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(1),
    help="Number of worker processes; one per core by default.",
)
@click.option(
    "--dask",
    default="",
    metavar="ADDRESS",
    help="Compute on a dask.distributed cluster, given by its scheduler.",
)
@click.option(
    "--skip-too-large",
    is_flag=True,
    help="If the data of a call of --calls do not fit into memory, check only its status. By"
    " default, opgen refuses the file.",
)
@click.option(
    "--inputs",
    type=click.Choice(("stored", "seeded")),
    default="stored",
    show_default=True,
    help="seeded: leave out of the file what opgen can draw again from its seed.",
)
@click.option(
    "--golden",
    metavar="HOW",
    default="whole",
    show_default=True,
    help="sampled[:N]: compute at most N elements (default 1024) of each output, for large calls.",
)
@click.option("--resume", is_flag=True, help="Continue a run of the same command that was stopped.")
@options.quiet_option()
def command(
    output: str | None,
    seed: int,
    force: bool,
    workers: int | None,
    dask: str,
    skip_too_large: bool,
    inputs: str,
    golden: str,
    resume: bool,
    quiet: bool,
    **asked: Any,
) -> None:
    """Write a suite as a bundle: calls, input data, expected gradients and status codes.

    Every element of an expected gradient has an error bound. Without arguments, the smoke suite of
    all operators and products goes to ./opgen-smoke.h5. A run that is stopped leaves FILE.partial.
    --resume continues from there; the finished FILE has the same bytes as one of a single run.
    """
    from pathlib import Path

    from opgen.bundle.write.output import refuse
    from opgen.cli import console
    from opgen.generation.bundle_file import samples_of, write_suite
    from opgen.generation.resources import fitting, needs
    from opgen.generation.seeding import seeds
    from opgen.quality.suite_summary import counts
    from opgen.report.layout import show
    from opgen.report.terminal import counted
    from opgen.suite.selection import Request

    request = Request(**asked)
    path = output or f"opgen-{request.name}.h5"
    request.check()  # what is asked for comes first, then where it goes
    refuse(path, force)
    suite = console.enumerated(request, quiet, workers)
    if request.files:
        samples, seeded = samples_of(golden), inputs == "seeded"
        suite = fitting(suite, request.calls, skip_too_large, samples, seeded)
        drawn = seeds(suite.batches, seed) if seeded else None
        console.note(f"{path}: {needs(suite, drawn, samples)}", quiet)
    with console.progress("cases", len(suite.cases), quiet) as advance:
        made = write_suite(
            request,
            suite,
            path,
            seed=seed,
            workers=workers,
            dask=dask,
            force=force,
            resume=resume,
            inputs=inputs,
            golden=golden,
            progress=advance,
        )
    if not quiet:
        show(console.messages(), summary_table(counts(suite)))
        about = f"{made.with_data} with data, {size(Path(path).stat().st_size)}"
        console.note(f"{path}: {counted(made.cases, 'case')}, {about}")
        for reason in dict.fromkeys(made.without_data.values()) if request.files else ():
            ids = [case for case, why in made.without_data.items() if why == reason]
            console.note(
                f"no data for {len(ids)}, since {reason}:"
                f" {', '.join(ids[:5])}{', ...' if len(ids) > 5 else ''}"
            )


def summary_table(counts: list[dict[str, Any]]) -> TextTable:
    """Cases by operator and product, or of many operators by operator; one column per kind."""
    from opgen.report.layout import TextTable

    kinds = [kind for kind in KINDS if any(entry["kind"] == kind for entry in counts)]
    ops, products = ({entry[name] for entry in counts} for name in ("op", "product"))
    many = len(ops) > MANY and len(products) > 1
    cases: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for entry in counts:
        cases[entry["op"], "all" if many else entry["product"]][entry["kind"]] += entry["cases"]
    rows = (
        (op, product, *(by_kind[kind] for kind in kinds))
        for (op, product), by_kind in cases.items()
    )
    return TextTable("operator", "product", *kinds, rows=rows, right=tuple(kinds))
