"""In which facts pages differ: those of one operator, or a page of another edition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opgen.cli.errors import DIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from opgen.lint.checking import Checked
    from opgen.lint.facts import Fact
    from opgen.report.layout import TextTable

NO_LINE = "no line: "


def compared(checked: Checked) -> Iterator[TextTable]:
    """What the pages of one operator say differently: first, since it is long."""
    from opgen.report.layout import TextTable

    for api, (specs, differences) in checked.differences.items():
        heads = ("fact", *(spec.name for spec in specs))
        said = [d for d in differences if d.kind != "answer"]
        yield TextTable(
            *heads,
            rows=((d.fact, *(_side(side, NO_LINE) for side in d.sides)) for d in said),
            title=f"{api}: said differently ({len(said)} facts)",
            lines=True,
        )
        answered = [d for d in differences if d.kind == "answer"]
        yield TextTable(
            *heads,
            rows=(
                (d.fact, *(f"{_line(side, NO_LINE)}{side.answer}" for side in d.sides if side))
                for d in answered
            ),
            title=f"{api}: said alike, another answer ({len(answered)} facts)",
        )


def show_editions(operators: tuple[str, ...], folder: Path, as_json: bool) -> None:
    """Print the facts in which the pages of a folder differ from the specs."""
    from dataclasses import asdict
    from pathlib import Path

    from opgen.cli import console
    from opgen.files.resources import specs_folder
    from opgen.lint.editions import changed, newer_page
    from opgen.model import FileError
    from opgen.report.layout import Paragraph, TextTable, show
    from opgen.report.terminal import counted
    from opgen.spec.catalog import catalog

    wanted = [catalog().api(name) for name in operators] or list(catalog().kinds)
    pages = [(s, newer_page(s, folder)) for s in catalog().specs if s.api in wanted and s.page]
    found = {
        spec.name: changed(spec, specs_folder() / Path(spec.file).name, page)
        for spec, page in pages
        if page is not None
    }
    if not found:
        raise FileError.of(str(folder), ", ".join(operators), "has no page of these operators")
    if as_json:
        console.json_text(
            {
                name: {
                    "page": read.page.name,
                    "differences": [asdict(difference) for difference in read.differences],
                    "undecided": read.undecided,
                }
                for name, read in found.items()
            }
        )
    else:
        out = console.output()
        for name, read in found.items():
            rows = ((d.fact, *map(_side, d.sides)) for d in read.differences)
            show(out, TextTable("fact", name, read.page.name, rows=rows, lines=True))
            facts, left = (
                counted(len(read.differences), "fact"),
                counted(len(read.undecided), "line"),
            )
            show(out, Paragraph(f"{name}: differences in {facts}, {left} to decide"))
    if any(read.differences for read in found.values()):
        raise click.exceptions.Exit(DIFFERENCE)


def _side(fact: Fact | None, unlined: str = "") -> str:
    if fact is None:
        return "-"
    return _line(fact, unlined) + fact.says + (f" [{fact.answer}]" if fact.answer else "")


def _line(fact: Fact, unlined: str) -> str:
    """The first line that a fact stands on; ``unlined`` where the page has none."""
    return f"line {fact.at[0]}: " if fact.at else unlined
