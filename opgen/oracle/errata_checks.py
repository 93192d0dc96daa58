"""What is wrong with errata that read well: entries that change nothing, rules of the page that
nothing speaks of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from opgen.files.yamlfile import Location
from opgen.oracle.errata import NEVER, PageErrata
from opgen.spec.language.term import Term

Fault: TypeAlias = tuple[Location, str, str]
"""(where in the file, the id it is about, the text)."""


def faults(pages: Sequence[PageErrata]) -> Iterator[Fault]:
    """Every fault of one operator's errata, page by page."""
    for page in pages:
        yield from () if page.as_page else _pointless(page)
        yield from _unused(page)
    if pages and not pages[0].as_page:
        yield from _tolerated_already(pages)
        yield from _unspoken(pages)


def _pointless(page: PageErrata) -> Iterator[Fault]:
    """A stage whose rules are all held before; a tolerance of a rule that is held whatever the
    call.
    """
    held: dict[str, str] = {}
    for stage in page.stages:
        repeated = [rule.id for rule in stage.rules if rule.id in held]
        if (
            repeated
            and len(repeated) == len(stage.rules)
            and not [g for g in stage.guards if g not in NEVER]
        ):
            yield (
                ("stages", stage.id),
                stage.id,
                f"changes nothing: {repeated[0]} is held by {held[repeated[0]]} before",
            )
        if stage.when is None:
            held.update({rule.id: stage.id for rule in stage.rules if rule.id not in held})
    for kind, name, rules in [
        *(("stages", stage.id, stage.instead_of) for stage in page.stages),
        *(("tolerates", tolerance.id, tolerance.rules) for tolerance in page.tolerated),
    ]:
        yield from (
            (
                (kind, name),
                name,
                f"changes nothing: {rule} is held by {held[rule]} whatever the call",
            )
            for rule in rules
            if rule in held
        )


def _unused(page: PageErrata) -> Iterator[Fault]:
    """A name of the file that no entry and no other name reads."""
    read: list[Term] = [*page.names.values()]
    for stage in page.stages:
        read += [stage.when] if stage.when else []
        read += [
            part for guard in stage.guards for part in (guard.require.left, *guard.require.right)
        ]
    read += [tolerance.when for tolerance in page.tolerated if tolerance.when]
    read += [entry.when for entry in page.numeric if entry.when]
    read += [term for entry in page.numeric for term in entry.reference.values()]
    used = {name for term in read for name, what in term.refs if what == ""}
    yield from (
        (("names", name), name, "is read by no entry; delete it")
        for name in page.names
        if name not in used
    )


def _tolerated_already(pages: Sequence[PageErrata]) -> Iterator[Fault]:
    """A tolerance of a rule by which no page forbids a call."""
    forbidden = _forbidden(pages)
    for tolerance in pages[0].tolerated:
        known = {rule.id for page in pages for rule in page.spec.rules}
        silent = [rule for rule in tolerance.rules if rule in known and rule not in forbidden]
        if silent:
            yield (
                ("tolerates", tolerance.id),
                tolerance.id,
                f"changes nothing: no page forbids a call by {', '.join(silent)}",
            )


def _unspoken(pages: Sequence[PageErrata]) -> Iterator[Fault]:
    """Every rule by which a page forbids calls is held, replaced or tolerated."""
    spoken: set[str] = set()
    for page in pages:
        for stage in page.stages:
            spoken |= {*stage.instead_of, *(rule.id for rule in stage.rules)}
        for tolerance in page.tolerated:
            spoken |= {*tolerance.rules}
    for rule in sorted(_forbidden(pages) - spoken):
        yield (
            ("stages",),
            rule,
            "no stage holds or replaces this rule of the page, and no entry tolerates it",
        )


def _forbidden(pages: Sequence[PageErrata]) -> set[str]:
    return {rule.id for page in pages for rule in page.spec.rules if rule.forbids}
