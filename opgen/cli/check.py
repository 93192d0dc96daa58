"""``opgen check``: check specs, plans, errata and kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opgen.cli import options
from opgen.cli.completion import complete_operators
from opgen.model import BUCKETS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from opgen.lint.checking import Checked
    from opgen.model import Problem
    from opgen.report.layout import TextTable

BROKEN = BUCKETS[1:]
"""The buckets of rules: all but ``valid``."""


@click.command(
    epilog=options.examples(
        "opgen check",
        "opgen check my_pool.yaml          # exit 2, with every problem of the file",
        "opgen check draft.yaml --todo --pages pages",
    )
)
@click.argument(
    "names",
    metavar="[FILE|OP]...",
    nargs=-1,
    type=click.Path(dir_okay=False),
    shell_complete=complete_operators,
)
@options.json_option()
@options.all_option(
    "Count the rules per bucket, and list the facts in which pages of one operator differ."
)
@click.option(
    "--todo",
    is_flag=True,
    help="List the lines of drafts about which you must decide, and check nothing.",
)
@click.option(
    "--pages",
    "folder",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="With --todo: print the page's text beside each of these lines.",
)
@options.quiet_option("Print problems only.")
def command(
    names: tuple[str, ...],
    as_json: bool,
    everything: bool,
    todo: bool,
    folder: str | None,
    quiet: bool,
) -> None:
    """Check specs, plans, errata and kernels.

    Without FILE, opgen checks its own. It reports all problems at once. Exit 2 if there is one. A
    spec that still has lines under todo counts as a problem.

    OP is an operator. opgen runs the probes of its kernel (small example calls), and says which
    requirement the kernel violates. It must return the same bits in every batch and for every
    choice of outputs, be linear in the incoming gradient, and be the derivative of its forward. No
    golden may exceed its magnitude, the sum of the absolute values of its terms. If torch has the
    operator, opgen also compares the goldens of the smoke suite with torch, and says on how many of
    the calls that have data they agree.
    """
    from pathlib import Path

    from opgen.cli import console
    from opgen.cli.kernel_check import check_kernel
    from opgen.lint.checking import Checked, check
    from opgen.model import FileError

    files, operators = _files_and_operators(names)
    if todo:
        _show_todo([Path(file) for file in files], folder)
        return
    problems: list[Problem] = []
    kernels: dict[str, list[str]] = {}
    for op in operators:
        kernels[op], broken = check_kernel(op)
        problems += broken
        for line in () if quiet or as_json else kernels[op]:
            click.echo(line)
    checked = check(map(Path, files)) if files or not operators else Checked()
    checked.problems += problems
    if as_json:
        console.json_text(_plain(checked) | {"kernels": kernels})
    elif not quiet and (files or not operators):
        _show(checked, everything)
    if checked.problems:
        raise FileError(checked.problems)


def _files_and_operators(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Those of the arguments that are files, and those that may be operators."""
    from pathlib import Path

    from opgen.model import FileError, Problem

    files = [name for name in names if Path(name).exists()]
    operators = [name for name in names if name not in files]
    lost = [name for name in operators if not name.isidentifier()]
    if lost:
        raise FileError(
            [Problem(name, None, "", "is neither a file nor an operator") for name in lost]
        )
    return files, operators


def _show_todo(files: list[Path], folder: str | None) -> None:
    from pathlib import Path

    from opgen.files.resources import specs_folder
    from opgen.files.textfile import read_text
    from opgen.report.terminal import counted, visible
    from opgen.spec.spec_folder import spec_files
    from opgen.spec.specfile import undecided

    for file in files or spec_files(specs_folder()):
        page, todo = undecided(file)
        text = read_text(Path(folder) / page).split("\n") if folder and page and todo else []
        for line, what in todo.items():
            click.echo(f"{file}: line {line}: {what}")
            if line <= len(text):
                click.echo(f"      {visible(text[line - 1].strip())}")
        click.echo(f"{file}: {counted(len(todo), 'line')} to decide")


def _show(checked: Checked, everything: bool) -> None:
    from opgen.cli import console
    from opgen.cli.fact_differences import compared
    from opgen.report.layout import Paragraph, show
    from opgen.report.terminal import counted

    out = console.output()
    if everything and not checked.problems:
        show(out, *compared(checked), *_counted(checked))
    if not checked.problems:
        files = (
            (checked.specs, "spec"),
            (checked.plans, "plan"),
            (checked.errata, "errata file"),
            (checked.sizes, "sizes file"),
        )
        some = ", ".join(counted(len(read), what) for read, what in files if read)
        show(out, Paragraph(f"no problem in {some}"))


def _counted(checked: Checked) -> Iterator[TextTable]:
    """What is in each file."""
    from pathlib import Path

    from opgen.lint.facts import buckets
    from opgen.report.layout import TextTable

    if checked.specs:
        heads = ("lines", "rules", *(bucket.removesuffix("_product") for bucket in BROKEN))
        counts = [(spec, buckets(spec)) for spec in checked.specs]
        specs = (
            (
                spec.name,
                len(spec.page.lines) if spec.page else 0,
                len(spec.rules),
                *(count.get(bucket, "") for bucket in BROKEN),
            )
            for spec, count in counts
        )
        yield TextTable("spec", *heads, rows=specs, right=heads)
    if checked.plans:
        plans = (
            (
                Path(plan.file).stem,
                plan.op,
                len(plan.axes),
                " ".join(plan.tiers),
                len(plan.handwritten),
            )
            for plan in checked.plans
        )
        heads = ("plan", "operator", "axes", "tiers", "handwritten")
        yield TextTable(*heads, rows=plans, right=("axes", "handwritten"))
    if checked.errata:
        parts = {"checks": "stages", "lets pass": "tolerated", "numbers": "numeric"}
        errata = (
            (
                Path(file.file).stem,
                file.release,
                *(
                    max((len(getattr(page, part)) for page in file.pages.values()), default=0)
                    for part in parts.values()
                ),
            )
            for file in checked.errata
        )
        yield TextTable("errata", "release", *parts, rows=errata, right=tuple(parts))


def _plain(checked: Checked) -> dict[str, object]:
    from dataclasses import asdict

    from opgen.lint.facts import buckets

    return {
        "problems": [asdict(problem) for problem in checked.problems],
        "specs": [
            {
                "file": s.file,
                "api": s.api,
                "op": s.op,
                "rules": len(s.rules),
                "buckets": buckets(s),
                "clauses": dict(s.clauses),
            }
            for s in checked.specs
        ],
        "plans": [
            {"file": p.file, "op": p.op, "axes": [a.name for a in p.axes], "tiers": list(p.tiers)}
            for p in checked.plans
        ],
        "errata": [
            {"file": e.file, "api": e.api, "release": e.release, "pages": list(e.pages)}
            for e in checked.errata
        ],
        "differences": {
            api: [
                {
                    "fact": d.fact,
                    "kind": d.kind,
                    "pages": {
                        s.name: side and asdict(side)
                        for s, side in zip(specs, d.sides, strict=True)
                    },
                }
                for d in differences
            ]
            for api, (specs, differences) in checked.differences.items()
        },
    }
