"""A library that does as its page where no entry says otherwise: the page's rules as stages, and
which stage is asked about which broken rule.

The first phase checks pointers, then arguments; then it makes a graph, tiles it and looks a kernel
up. So a status says how late it was returned, and stages stand in that order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from opgen.model import ANY_ERROR, CRASH, Code
from opgen.oracle.errata import PageErrata, Stage, Tolerance
from opgen.spec.language.term import View
from opgen.spec.rules import Rule
from opgen.spec.spec import Spec

PHASES: tuple[tuple[Code, ...], ...] = (
    *((161001,), (161002,)),
    *((ANY_ERROR,), (CRASH,), (561103, 561001)),
)
"""Codes in the order in which a library returns them. Others come after these, by number; what a
page leaves open comes last."""
PREFIX = "page_"
"""How the ids of the page's own stages begin."""


def stages_of(spec: Spec) -> list[Stage]:
    """The rules of a page as stages: one for each set of codes that it admits."""
    rules: dict[tuple[Code, ...], list[Rule]] = {}
    for rule in spec.rules:
        codes: tuple[Code, ...] = (0, ANY_ERROR)
        if rule.forbids:
            codes = (ANY_ERROR,) if rule.code is None else (rule.code,)
        rules.setdefault(codes, []).append(rule)
    return [
        Stage(
            PREFIX + "_or_".join(map(str, codes)),
            where=(),
            basis="observed",
            note="as the page says",
            when=None,
            rules=tuple(of),
            guards=(),
            codes=codes,
            instead_of=(),
            accepted="the page",
        )
        for codes, of in rules.items()
    ]


def in_order(own: Iterable[Stage], of_page: Iterable[Stage]) -> tuple[Stage, ...]:
    """The stages of an errata file, each before those of the page that return as late."""
    return tuple(sorted((*own, *of_page), key=lambda stage: (not stage.beside, phase(stage.codes))))


def completed(page: PageErrata) -> PageErrata:
    """The same with the page's own stages after its others, for calls of which those do not speak:
    nobody saw what the library does there.
    """
    of_page = (replace(stage, basis="inferred") for stage in in_order((), stages_of(page.spec)))
    return replace(page, stages=(*page.stages, *of_page))


def phase(codes: Sequence[Code]) -> tuple[int, int]:
    """How late in the first phase a library returns one of some codes."""
    if len(codes) > 1 and 0 in codes:
        return len(PHASES) + 1, 0
    number = codes[0] if isinstance(codes[0], int) else 0
    known = (i for i, phase in enumerate(PHASES) if codes[0] in phase)
    return next(known, len(PHASES) if number else -1), 0 if number in (161002, 161001) else number


def asked(
    page: PageErrata, view: View, broken: Mapping[str, np.ndarray]
) -> list[Mapping[str, np.ndarray]]:
    """Of each stage: rule -> (rows,) bool, where it is broken and no other entry decides it. A rule
    is decided by the first entry that names it and applies: those with a condition come first,
    tolerances before stages.
    """
    own = [stage for stage in page.stages if not stage.id.startswith(PREFIX)]
    entries: list[Stage | Tolerance] = [*page.tolerated, *own]
    left = {rule: rows.copy() for rule, rows in broken.items()}
    enforced = {rule: rows.copy() for rule, rows in broken.items()}
    mine: dict[str, dict[str, np.ndarray]] = {}
    for entry in sorted(entries, key=lambda entry: entry.when is None):
        if isinstance(entry, Stage) and entry.beside:
            continue
        ids = [rule if isinstance(rule, str) else rule.id for rule in entry.rules]
        here = {rule: left[rule] for rule in ids if rule in left}
        if not here:
            continue
        reached = entry.reached(view, len(next(iter(here.values()))))
        mine[entry.id] = {rule: rows & reached for rule, rows in here.items()}
        for rule in here:
            left[rule] = left[rule] & ~reached
            if isinstance(entry, Tolerance):
                enforced[rule] = enforced[rule] & ~reached
    for stage in own:
        if both := [enforced[rule] for rule in stage.beside if rule in enforced]:
            other = np.logical_or.reduce(both)
            here = {rule.id: enforced[rule.id] for rule in stage.rules if rule.id in enforced}
            mine[stage.id] = {rule: rows & other for rule, rows in here.items()}
    return [
        left if stage.id.startswith(PREFIX) else mine.get(stage.id, {}) for stage in page.stages
    ]


def turns(
    page: PageErrata, asked: Sequence[Mapping[str, np.ndarray]]
) -> Iterator[tuple[int, Mapping[str, np.ndarray]]]:
    """(the position of a stage, what it is asked), in the order in which the library checks."""
    moved = page.early | page.late
    for first, rules in ((False, page.early), (True, moved), (False, page.late)):
        for i in range(len(page.stages)):
            here = {rule: rows for rule, rows in asked[i].items() if (rule in rules) != first}
            if here or first:
                yield i, here
