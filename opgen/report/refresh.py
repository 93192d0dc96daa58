"""What a refresh found, as a table, as data and as Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from opgen.files.resources import specs_folder
from opgen.files.textfile import read_text
from opgen.report.layout import TextTable
from opgen.report.terminal import counted, markdown

if TYPE_CHECKING:
    from opgen.lock.refresh import Change, Refreshed

MOST = 12
"""Changes of a kind that are listed one by one; the rest is counted."""
KINDS = ("removed", "added", "expectation", "golden", "data", "bound")


def as_data(refreshed: Refreshed) -> dict[str, object]:
    """Everything, for programs."""
    return {
        "cases": refreshed.cases,
        "computed": refreshed.computed,
        "changes": [
            {
                "case": c.case,
                "what": c.what,
                "why": list(c.why),
                "before": c.before,
                "after": c.after,
                "ulp": c.ulp,
            }
            for c in refreshed.changes
        ],
    }


def detail(change: Change) -> str:
    """What changed, in words."""
    if change.what == "expectation":
        return f"{change.before} -> {change.after}"
    if change.what == "golden" and change.ulp is not None:
        return f"by up to {change.ulp} ULP of what is stored"
    return f"{change.before} -> {change.after}" if change.before else ""


def facts(refreshed: Refreshed) -> Iterator[str]:
    """The rules by which expectations are other than they were, a line each: file, line, rule, and
    in how many cases.
    """
    pages = {case: page for page, held in refreshed.lock.entries.items() for case in held}
    counts: Counter[tuple[str, str]] = Counter()
    for change in refreshed.changes:
        if change.what == "expectation":
            page = pages[change.case]
            now = refreshed.lock.entries[page][change.case]
            differ = now.rules ^ replace(now, expectation=change.before).rules
            counts.update((page, rule) for rule in differ - {""})
    for (page, rule), cases in counts.most_common(MOST):
        written = read_text(specs_folder() / f"{page}.yaml").splitlines()
        name = re.compile(rf"\s+{re.escape(rule.split('.')[0])}:")
        line = next((str(at) for at, text in enumerate(written, 1) if name.match(text)), "")
        place = ":".join(filter(None, (f"specs/{page}.yaml", line)))
        yield f"{place}: {rule}: {counted(cases, 'case')} broke it before or now, not both"


def as_table(refreshed: Refreshed) -> TextTable:
    """A table for a terminal, the first changes of each kind."""
    rows: list[tuple[str, ...]] = []
    for kind in KINDS:
        some = [c for c in refreshed.changes if c.what == kind]
        for change in some[:MOST]:
            rows.append((kind, change.case, detail(change), ", ".join(change.why)))
        if len(some) > MOST:
            rows.append((kind, f"and {len(some) - MOST} more", "", ""))
    return TextTable("what", "case", "detail", "why", rows=rows)


def as_markdown(refreshed: Refreshed) -> str:
    """A summary for a merge request."""
    counts = Counter(change.what for change in refreshed.changes)
    told = (
        f"{counted(refreshed.cases, 'case')}, {refreshed.computed} computed again,"
        f" {counted(len(refreshed.changes), 'change')}."
    )
    lines = ["## Goldens by opgen refresh", "", told, ""]
    if counts:
        lines += ["| what | cases | why |", "|---|---:|---|"]
        for kind in KINDS:
            if counts[kind]:
                why = sorted({w for c in refreshed.changes if c.what == kind for w in c.why})
                reasons = ", ".join(map(markdown, why)).replace("|", r"\|")
                lines.append(f"| {kind} | {counts[kind]} | {reasons} |")
        lines.append("")
    for kind in KINDS:
        some = [c for c in refreshed.changes if c.what == kind]
        if some:
            lines += [
                f"<details><summary>{kind}: {len(some)}</summary>",
                "",
                *(
                    " ".join(("-", *map(markdown, filter(None, (c.case, detail(c))))))
                    for c in some[:MOST]
                ),
            ]
            lines += [f"- and {len(some) - MOST} more"] if len(some) > MOST else []
            lines += ["", "</details>", ""]
    return "\n".join(lines)
