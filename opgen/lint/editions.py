"""In which facts a newer page of an operator differs from a spec: read from the page, not by
digests of lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from opgen.lint.facts import Difference, Fact, differences
from opgen.spec import specfile
from opgen.spec.drafting.draft import draft
from opgen.spec.drafting.next_edition import CARRIED, next_edition
from opgen.spec.drafting.writing import spec_text
from opgen.spec.pages.reading import read_page
from opgen.spec.spec import Spec


@dataclass(frozen=True)
class Changed:
    """The facts that a page states differently, or that only one side has, and the lines of the
    page that are left to a person.
    """

    page: Path
    differences: tuple[Difference, ...]
    undecided: dict[int, str]


def changed(spec: Spec, file: Path, page: Path) -> Changed:
    """In what a page differs from the spec, whose file is ``file``; FileError where it is no page
    of the operator.

    A fact that no pattern reads on the page is left out, and one of which a line that is left to
    decide may speak: nothing tells whether it still holds.
    """
    content = page.read_bytes()
    drafted = draft(read_page(str(page)), str(page))
    text = next_edition(file, spec_text(drafted, page.name, content, "newer"), content)
    newer = specfile.loads(text.partition("\ntodo:\n")[0], spec.name, str(page))
    marks = {
        line: what.split("; ") for line, what in specfile.undecided_of(text, str(page)).items()
    }
    carried = {
        fact
        for parts in marks.values()
        for part in parts
        if part.startswith(CARRIED)
        for fact in part.removeprefix(CARRIED).split(", ")
    }
    sure = [
        difference
        for difference in differences([spec, newer])
        if difference.fact not in {*carried, *spec.parameters, *drafted.pending}
        and not difference.fact.startswith(("remark.", "compute."))
        and not (difference.sides[0] and difference.sides[0].answer == "assumed")
        and not _alike(*difference.sides)
    ]
    left = {
        line: "; ".join(part for part in parts if not part.startswith(CARRIED))
        for line, parts in marks.items()
    }
    return Changed(page, tuple(sure), {line: what for line, what in left.items() if what})


def _alike(older: Fact | None, newer: Fact | None) -> bool:
    """Whether two facts differ in the order of a list alone."""

    def sorted_lists(fact: Fact) -> str:
        return re.sub(r"\(([^()]*)\)", lambda some: str(sorted(some[1].split(", "))), fact.says)

    return (
        older is not None
        and newer is not None
        and (sorted_lists(older), older.answer) == (sorted_lists(newer), newer.answer)
    )


def newer_page(spec: Spec, folder: Path) -> Path | None:
    """The page of a spec's operator in a folder; None where there is none."""
    for name in (*([spec.page.file] if spec.page else []), f"{spec.api}.md", f"{spec.api}.txt"):
        if (folder / name).exists():
            return folder / name
    return None
