"""What a refresh found, as a table, as data and as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

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
                "apart": c.apart,
            }
            for c in refreshed.changes
        ],
    }


def detail(change: Change) -> str:
    """What changed, in words."""
    if change.what == "expectation":
        return f"{change.before} -> {change.after}"
    if change.apart is not None:
        return f"by about {change.apart:.1g} of its magnitude"
    return f"{change.before} -> {change.after}" if change.before else ""


def facts(refreshed: Refreshed) -> Iterator[str]:
    """The rules by which expectations are other than they were, a line each: file, line, rule, and
    in how many cases; and the pages whose results changed although no version did.
    """
    for place, rule, cases in refreshed.rules_that_differ()[:MOST]:
        yield f"{place}: {rule}: {counted(cases, 'case')} broke it before or now, not both"
    for page, cases in refreshed.without_a_version().items():
        yield (
            f"{page}: {counted(cases, 'case')} changed, and no version did: undo that, or raise the"
            " VERSION (of a recipe, its version) of what changed"
        )


def as_table(refreshed: Refreshed) -> TextTable:
    """A table for a terminal, the first changes of each kind."""
    rows: list[tuple[str, ...]] = []
    for kind in KINDS:
        some = [c for c in refreshed.changes if c.what == kind]
        rows += [(kind, c.case, detail(c), ", ".join(c.why)) for c in some[:MOST]]
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
                why = {markdown(w) for c in refreshed.changes if c.what == kind for w in c.why}
                reasons = ", ".join(sorted(why)).replace("|", r"\|")
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
                *([f"- and {len(some) - MOST} more"] if len(some) > MOST else []),
                "",
                "</details>",
                "",
            ]
    return "\n".join(lines)
