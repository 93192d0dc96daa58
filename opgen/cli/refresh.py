"""``opgen refresh``: compare a suite with its lock, or rewrite the lock."""

from __future__ import annotations

import click

from opgen.cli import options
from opgen.cli.errors import DIFFERENCE
from opgen.cli.paths import OutputPath


@click.command(
    epilog=options.examples(
        "opgen refresh --check",
        "opgen refresh --plan smoke -o smoke.lock",
        "opgen refresh group_norm_backward --lock smoke.lock --check",
    )
)
@options.operators_argument()
@options.plan_option()
@click.option(
    "--lock",
    metavar="FILE|DIR",
    type=OutputPath(over="output", folder=True),
    help="Lock to compare with, a folder or a file; by default cases/TIER or PLAN.lock.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OutputPath(over="lock"),
    help="Lock to write as one file; the old one by default.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if anything changed.")
@click.option(
    "--recompute",
    is_flag=True,
    help="Enumerate and compute every case again, changed or not.",
)
@options.seed_option()
@click.option(
    "--summary",
    metavar="FILE",
    type=OutputPath(),
    help="Write a summary for a merge request.",
)
@options.force_option("Replace the summary even if opgen did not write it.")
@options.json_option()
@options.quiet_option()
def command(
    operators: tuple[str, ...],
    plan: str,
    lock: str | None,
    output: str | None,
    check: bool,
    recompute: bool,
    seed: int,
    summary: str | None,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare a suite with its lock, or rewrite the lock.

    opgen enumerates the plan again, page by page. It skips a page that it has already checked with
    the same files and the same code of opgen. It says which cases were added, removed or changed,
    and why. For a golden, it also says about how much it changed, as a fraction of the sum of the
    absolute values of its elements. If opgen's code is unchanged, it computes only cases whose spec
    or plan changed.
    """
    import shlex
    from pathlib import Path

    from opgen.bundle.write.output import refuse
    from opgen.cli import console
    from opgen.files.resources import cases_folder, installed, specs_folder, unlike
    from opgen.generation.processes import mapped
    from opgen.lock import check_cache
    from opgen.lock.lockfile import Lock, read_lock
    from opgen.lock.refresh import refresh
    from opgen.model import TIERS
    from opgen.report.layout import show
    from opgen.report.refresh import as_data, as_markdown, as_table, facts
    from opgen.report.terminal import counted
    from opgen.report.writing import write_report
    from opgen.suite.selection import Request

    options.only_one(check=check, output=output)
    request = Request(operators=operators, plan=plan)
    if request.calls:
        raise click.UsageError(f"--plan: {plan} is a file of calls; only plans have locks")
    pages, tier = request.pages()
    folder = cases_folder() if plan in TIERS else Path(plan.partition("::")[0]).parent
    path = Path(lock) if lock else folder / (plan if plan in TIERS else f"{request.name}.lock")
    old = read_lock(path) if path.exists() else Lock()
    for written in filter(None, (output, summary)):
        refuse(written, force=True)
    if output and Path(output).exists():
        read_lock(Path(output))  # nothing but a lock gives way to one
    if check and not path.exists():
        raise click.UsageError(f"{path}: there is no lock to check; opgen refresh writes one")
    if installed() and folder.resolve() == cases_folder() and not (check or lock or output):
        raise click.UsageError(
            f"{path}: belongs to the installed copy, where a new lock would be lost; name the lock"
            f" of your checkout with --lock cases/{path.name}, or install it with pip install -e ."
        )
    foreign = [
        file
        for folder in (specs_folder(), *([cases_folder()] if plan in TIERS else []))
        for file in unlike(folder, path.resolve().parent.parent)
    ]
    if foreign:
        raise click.UsageError(
            f"{foreign[0]}: is not what is in use, which lies in {specs_folder().parent}; install"
            " this checkout first: pip install -e ."
        )
    held = old.some({spec.name for spec, _ in pages}) if operators else old
    with console.progress("cases", None, quiet) as advance:
        refreshed = refresh(
            pages,
            tier,
            held,
            seed=seed,
            everything=recompute,
            progress=advance,
            each=mapped(),
            checked=check_cache.remembered(),
        )
    check_cache.remember(refreshed.marks)
    if summary:
        write_report(summary, as_markdown(refreshed), force)
    if as_json:
        console.json_text(as_data(refreshed))
    elif refreshed.changes:
        show(console.output(), as_table(refreshed))
    told = (
        f"{counted(refreshed.cases, 'case')}, {refreshed.computed} computed,"
        f" {counted(len(refreshed.changes), 'change')}"
    )
    console.note(f"{told} against {path}", quiet)
    if check:
        if refreshed.changes:
            for fact in facts(refreshed):
                console.note(fact, quiet)
            seeded = ["--seed", str(seed)] if seed else []
            words = ["opgen", "refresh", *operators, "--plan", plan, "--lock", str(path), *seeded]
            console.note(f"if you meant these changes: {shlex.join(words)}", quiet)
            raise click.exceptions.Exit(DIFFERENCE)
        return
    others = (
        read_lock(path) if operators and path.exists() else Lock()
    )  # as they are now: who refreshes another operator may be done
    if plan in TIERS and not (lock or output):
        path.mkdir(exist_ok=True)
    refreshed.lock.beside(others).write(Path(output) if output else path)
