"""``opgen check``: check specs, plans and errata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opgen.cli import options
from opgen.model import BUCKETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from opgen.lint.checking import Checked
    from opgen.lint.facts import Fact

BROKEN = BUCKETS[1:]
"""The buckets of rules: all but ``valid``."""


@click.command(
    epilog=options.examples(
        "opgen check", "opgen check my_pool.yaml          # exit 2, with every problem of the file"
    )
)
@click.argument(
    "files", metavar="[FILE]...", nargs=-1, type=click.Path(exists=True, dir_okay=False)
)
@options.json_option()
@options.all_option(
    "Count the rules per bucket, and list the facts in which pages of one operator differ."
)
def command(files: tuple[str, ...], as_json: bool, everything: bool) -> None:
    """Check specs, plans and errata.

    Without FILE, opgen checks its own. It reports all problems at once. Exit 2 if there is one.
    """
    from pathlib import Path

    from opgen.cli import console
    from opgen.lint.checking import check
    from opgen.model import FileError

    checked = check(map(Path, files))
    if as_json:
        console.json_text(_plain(checked))
    else:
        _show(checked, everything)
    if checked.problems:
        raise FileError(checked.problems)


def _show(checked: Checked, everything: bool) -> None:
    from opgen.cli import console
    from opgen.report.terminal import counted

    out = console.output()
    if everything and not checked.problems:
        for table in (*_compared(checked), *_counted(checked)):
            out.print(table)
    for api, (specs, differences) in checked.differences.items():
        pages = counted(len(specs), "page")
        out.print(f"{api}: {pages}, which differ in {counted(len(differences), 'fact')}")
    if not checked.problems:
        files = ((checked.specs, "spec"), (checked.plans, "plan"), (checked.errata, "errata file"))
        out.print(
            "no problem in " + ", ".join(counted(len(some), what) for some, what in files if some)
        )


def _compared(checked: Checked) -> Iterator[Table]:
    """What the pages of one operator say differently: first, since it is long."""
    from opgen.report import terminal

    for api, (specs, differences) in checked.differences.items():
        heads = ("fact", *(spec.name for spec in specs))
        said = [d for d in differences if d.kind != "answer"]
        yield terminal.table(
            *heads,
            rows=((d.fact, *map(_side, d.sides)) for d in said),
            title=f"{api}: said differently ({len(said)} facts)",
            lines=True,
        )
        answered = [d for d in differences if d.kind == "answer"]
        yield terminal.table(
            *heads,
            rows=(
                (d.fact, *(f"{_lines(side)}{side.answer}" for side in d.sides if side))
                for d in answered
            ),
            title=f"{api}: said alike, another answer ({len(answered)} facts)",
        )


def _counted(checked: Checked) -> Iterator[Table]:
    """What is in each file."""
    from pathlib import Path

    from opgen.lint.facts import buckets
    from opgen.report import terminal

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
        yield terminal.table("spec", *heads, rows=specs, right=heads)
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
        yield terminal.table(*heads, rows=plans, right=("axes", "handwritten"))
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
        yield terminal.table("errata", "release", *parts, rows=errata, right=tuple(parts))


def _lines(fact: Fact) -> str:
    return f"line {fact.at[0]}: " if fact.at else "no line: "


def _side(fact: Fact | None) -> str:
    if fact is None:
        return "-"
    return (
        _lines(fact) + fact.says + (f" [{fact.answer}]".replace("[", "\\[") if fact.answer else "")
    )


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
