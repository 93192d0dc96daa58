"""Two second sources against each other: what a library does otherwise since an earlier release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from opgen.oracle.as_page import PREFIX
from opgen.oracle.errata import Errata, Erratum, Fault, Numeric, PageErrata, Stage, Tolerance
from opgen.spec.rules import readable


@dataclass(frozen=True)
class EntryChange:
    """An entry that says something else in the later source; None where a source does not have
    it. ``page`` is the spec in whose names it is written.
    """

    api: str
    page: str
    id: str
    before: str | None
    after: str | None

    @property
    def kind(self) -> str:
        """``new``, ``gone`` or ``changed``."""
        return "new" if self.before is None else "gone" if self.after is None else "changed"


def changes(before: Mapping[str, Errata], after: Mapping[str, Errata]) -> Iterator[EntryChange]:
    """The entries that differ, page by page. Evidence, places in sources and notes are no
    difference: they do not say what the library does.
    """
    for api in sorted({*before, *after}):
        pages = [known[api].pages if api in known else {} for known in (before, after)]
        for page in sorted({*pages[0], *pages[1]}):
            old, new = (_said(each[page]) if page in each else {} for each in pages)
            yield from (
                EntryChange(api, page, name, old.get(name), new.get(name))
                for name in dict.fromkeys((*old, *new))
                if old.get(name) != new.get(name)
            )


def _said(page: PageErrata) -> dict[str, str]:
    """Id -> what an entry says, in words; and which rules are checked early, and late."""
    known = {name: entry for name, entry in page.entry.items() if not name.startswith(PREFIX)}
    moved = {"early": ", ".join(sorted(page.early)), "late": ", ".join(sorted(page.late))}
    told = {name: said(entry) for name, entry in known.items()} | moved
    return {name: what for name, what in told.items() if what}


def said(entry: Erratum) -> str:
    """What an entry says of calls, in words."""
    parts: list[str] = []
    if isinstance(entry, Stage):
        parts += [rule.id for rule in entry.rules]
        parts += [f"not {readable(guard.require.text)}" for guard in entry.guards]
        parts += [f"beside {', '.join(entry.beside)}"] if entry.beside else []
        parts.append(f"returns {' or '.join(map(str, entry.codes))}")
        parts += [f"instead of {', '.join(entry.instead_of)}"] if entry.instead_of else []
        parts += ["a fault"] if isinstance(entry, Fault) else []
    elif isinstance(entry, Tolerance):
        parts += [*entry.rules, "not enforced"]
    elif isinstance(entry, Numeric):
        known = {key: getattr(entry, key) for key in ("bound", "through", "compute", "written")}
        parts += [f"{key} {value}" for key, value in known.items() if value]
        parts += [f"{key} = {readable(term.text)}" for key, term in entry.reference.items()]
        parts += list(entry.outputs)
    if entry.when is not None:
        parts.append(f"when {readable(entry.when.text)}")
    return ", ".join(parts)
