"""The suite of a tier for some pages: enumerated calls, then handwritten ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import compress, pairwise
from typing import Any, TypeAlias

import numpy as np

from opgen.calls.case_table import CaseTable
from opgen.calls.categorical import Categorical
from opgen.calls.factorize import factorize
from opgen.calls.ids import match_ids
from opgen.calls.purposes import Purposes
from opgen.model import CRASHES, Call
from opgen.spec.spec import Spec
from opgen.suite.budget import CaseLimit, LeftOut, left_out
from opgen.suite.enumeration.enumerator import RANDOM_STATE, Enumeration, enumerate_calls
from opgen.suite.enumeration.handwritten import with_handwritten
from opgen.suite.naming import case_ids
from opgen.suite.planning.plan import Plan
from opgen.suite.suite import PlannedPage, Source, Suite, crashing, joined, labelled_suite

_log = logging.getLogger(__name__)

Each: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""How some work is done for each of several things, in their order: ``map``, or something that has
other processes help."""


def plan_suite(
    pages: Sequence[PlannedPage],
    tier: str,
    products: Sequence[str] = (),
    patterns: Sequence[str] = (),
    given: Sequence[Call] = (),
    each: Each = map,
    random_state: int = RANDOM_STATE,
    source: Source = None,
) -> Suite:
    """The suite of a tier for some pages: enumerated calls, then handwritten ones; only
    ``products`` and ids that match.

    ``given`` calls exist already: what they cover is not made again. ``each`` does the work of
    every page. ``random_state`` breaks ties between calls. ``source`` is api -> errata, by default
    those that opgen ships.
    """
    asked = [
        (spec, plan)
        for spec, plan in pages
        if plan.speaks_of(spec.judges) and (not products or set(products) & set(spec.judges))
    ]
    longest_first = sorted(asked, key=lambda page: -len(page[0].rules))

    def of_page(page: PlannedPage) -> Suite:
        return _planned(*page, tier, products, patterns, given, random_state, source)

    made = each(of_page, longest_first)
    part = dict(zip([spec.name for spec, _ in longest_first], made, strict=True))
    parts = [part[spec.name] for spec, _ in asked]
    ends = np.cumsum([0, *(len(part.cases) for part in parts)]).tolist()
    return joined(asked, parts, [np.arange(start, end) for start, end in pairwise(ends)])


def _planned(
    spec: Spec,
    plan: Plan,
    tier: str,
    products: Sequence[str],
    patterns: Sequence[str],
    given: Sequence[Call],
    random_state: int,
    source: Source,
) -> Suite:
    """The cases of one page that are asked for."""
    calls = with_handwritten(enumerate_calls(spec, plan, tier, given, random_state), plan, tier)
    ids = case_ids(calls.judged, calls.kind, calls.purposes, calls.recipe, calls.given)
    cases, report = _one_per_id(calls, ids), calls.report
    asked = np.ones(len(cases), dtype=bool)
    if products:
        asked &= cases.product.mask(products.__contains__)
    if patterns:
        places = [place for some in match_ids(cases.id, patterns).values() for place in some]
        asked &= np.isin(np.arange(len(cases)), places)
    over = left_out(cases, plan.tiers[tier])
    keep = asked & ~np.logical_or.reduce(list(over.values()))
    if patterns:
        keep |= np.isin(cases.id, cases.nearest_valid.take(keep).values)
    if tier != CRASHES:
        fatal = crashing(calls.judged, source)[cases.row]
        keep, report.crashing = keep & ~fatal, int(fatal.sum())
        report.fatal = tuple(
            rule.id
            for rule, rows in zip(spec.rules, calls.judged.broken[:, cases.row], strict=True)
            if rows.any() and not (rows & ~fatal).any()
        )
    values = {ids[row]: arrays for row, arrays in calls.given.items()}
    limit = CaseLimit.of_tier(plan.tiers[tier])
    kept = cases.take(np.flatnonzero(keep))
    suite = labelled_suite(plan, calls.judged, kept, values, limit, source)
    whole = [
        LeftOut(spec.name, key, tuple(compress(cases.id, asked & passed)))
        for key, passed in over.items()
        if (asked & passed).any()
    ]
    _log.info("%s: %d cases of the tier %s", spec.name, len(suite.cases), tier)
    return replace(suite, reports={spec.name: report}, left_out=(*whole, *suite.left_out))


def _one_per_id(calls: Enumeration, ids: Sequence[str]) -> CaseTable:
    """Enumerated calls as cases; those of one id are one case, for everything that they are for."""
    number, first = factorize(ids)
    purposes: list[Purposes] = [()] * len(first)
    for i, some in zip(number.tolist(), calls.purposes, strict=True):
        purposes[i] = tuple(dict.fromkeys(purposes[i] + some)) if purposes[i] else some
    return CaseTable.of_calls(
        calls.judged.table,
        first,
        [ids[row] for row in first.tolist()],
        calls.kind.take(first),
        Categorical.of(purposes),
        Categorical.coded([*ids, ""], calls.nearest_valid[first]),
        calls.recipe.take(first),
    )
