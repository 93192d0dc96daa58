"""From a failing case to the simplest call that still fails.

Simpler calls are proposed by :mod:`opgen.minimization.simplify`, labelled by the oracle, and run
and judged by :mod:`opgen.minimization.search`. A step is taken only where the call breaks the same
rules as before (none, if it was legal), so the search never leaves what it set out to show.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from opgen.bundle.case import CaseView
from opgen.calls.jsonl import NamedCall
from opgen.calls.table import from_calls
from opgen.comparison.statuses import CRASHED
from opgen.devices import Run
from opgen.minimization.failing import Failing, elements_of
from opgen.minimization.point import Point, assemble, complexity, point_of
from opgen.minimization.search import Search
from opgen.minimization.simplify import merged, simpler, simpler_in_pairs
from opgen.model import TIME_LIMIT, Call, FileError, Problem
from opgen.numerics.recipes import DEFAULT
from opgen.oracle.oracle import judge
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.planning.strides import VIEWS

AT_ONCE = (6, 12, 24, 48)
"""Calls that are run together, the simplest ones first; a device that died of the first call is
asked few at a time."""
PLAIN = ("one_hot", "ones", "integers", "grid")
"""Recipes to end with, the simplest data first."""
DRAWS = 4
"""Draws of each of these recipes that are tried: a fault may need luck."""
MOST_RUN = 3000
"""Calls that are run at most, where nobody says how many."""


@dataclass(frozen=True)
class Minimal:
    """Where a search ended: the simplest failing call, the elements of the first one, and how many
    calls were run.
    """

    failing: Failing
    before: int
    steps: int
    ran: int


def minimize(
    case: CaseView,
    backend: Run,
    *,
    device: str = "",
    timeout: float = TIME_LIMIT,
    seed: int = 0,
    most: int = MOST_RUN,
    progress: Callable[[Failing], None] | None = None,
) -> Minimal:
    """The simplest call that fails as a case does, found by running at most ``most`` calls on a
    device.

    Raises FileError where the case passes when it is run again.
    """
    tell = progress or (lambda failing: None)
    spec = catalog().by_page[case.op, case.product]
    call = case.asked
    recipe = case.recipe or DEFAULT
    with tempfile.TemporaryDirectory(prefix="opgen-minimize-") as folder:
        search = Search(backend, device, timeout, seed, Path(folder))
        search.data = dict(case.inputs)
        again = search.failing([NamedCall(case.id, call, {})], recipe)
        if not again:
            raise FileError(
                [
                    Problem(
                        case.id,
                        None,
                        "",
                        "passes when it is run again: there is nothing to minimize",
                    )
                ]
            )
        best, steps = _drawn(search, again[0]), 0
        rules = _broken(spec, call)
        point = _named(search, spec, best, rules)
        seen = {_key(best.call), _key(point.call)}
        while search.ran < most:
            found = _step(search, point, best, rules, seen, most)
            if found is None:
                break
            (point, best), steps = found, steps + 1
            tell(best)
        best = _plainer(search, best)
        return Minimal(best, elements_of(call), steps, search.ran)


def _drawn(search: Search, best: Failing) -> Failing:
    """The same call with data that its recipe draws, and no other data from then on; as it is where
    the fault needs its own.
    """
    own, search.data = search.data, {}
    found = (
        [
            one
            for one in search.failing([NamedCall(best.id, best.call, {})], best.recipe)
            if one.kind == best.kind
        ]
        if own
        else []
    )
    if not found:
        search.data = own
    return found[0] if found else best


def _named(search: Search, spec: Spec, best: Failing, rules: frozenset[str]) -> Point:
    """Where the search starts: the call itself or, where a tensor's strides have no name, the first
    view that fails as well.
    """
    points = {
        _key(point.call): point
        for point in (point_of(spec, best.call, view) for view in range(len(VIEWS)))
    }
    alike = [
        point
        for point in points.values()
        if point.call != best.call and _broken(spec, point.call) == rules
    ]
    if _key(best.call) in points or not alike:
        return points.get(_key(best.call)) or next(iter(points.values()))
    found = _same(search, alike, best)
    return found[0][0] if found else alike[0]


def _step(
    search: Search, point: Point, best: Failing, rules: frozenset[str], seen: set[str], most: int
) -> tuple[Point, Failing] | None:
    """A simpler call that fails in the same way: by one change, else by two; None where there is
    none, or ``most`` calls have been run.
    """
    for way in (simpler, simpler_in_pairs):
        candidates = _legal(point, way(point), complexity(best.call), rules, seen)
        sizes = iter((AT_ONCE[0],) * len(candidates) if best.verdict == CRASHED else AT_ONCE)
        size = AT_ONCE[0]
        while candidates and search.ran < most:
            size = min(next(sizes, size), most - search.ran)
            some, candidates = candidates[:size], candidates[size:]
            found = _same(search, some, best)
            if found:
                return (
                    _all_at_once(
                        search, point, [candidate for candidate, _ in found], rules, seen, best
                    )
                    or found[0]
                )
    return None


def _same(
    search: Search, candidates: Sequence[Point], best: Failing
) -> list[tuple[Point, Failing]]:
    """The candidates that fail like the best call so far, the simplest first."""
    named = [
        NamedCall(f"minimal-{search.ran + i}", one.call, {}) for i, one in enumerate(candidates)
    ]
    failing = {one.id: one for one in search.failing(named, best.recipe) if one.kind == best.kind}
    found = [
        (point, failing[name.id])
        for point, name in zip(candidates, named, strict=True)
        if name.id in failing
    ]
    return sorted(found, key=lambda pair: pair[0].cost)


def _all_at_once(
    search: Search,
    point: Point,
    found: list[Point],
    rules: frozenset[str],
    seen: set[str],
    best: Failing,
) -> tuple[Point, Failing] | None:
    """Several changes that work alone often work together; the simplest combination that still
    fails.
    """
    several = [
        merged(point, found[:count])
        for count in (2, 3, 5, 8, len(found))
        if 1 < count <= len(found)
    ]
    both = _legal(point, several, min(one.cost for one in found), rules, seen)
    joined = _same(search, both, best) if both else []
    return joined[0] if joined else None


def _legal(
    point: Point,
    chosen: Iterable[Mapping[Any, Any]],
    cost: int,
    rules: frozenset[str],
    seen: set[str],
) -> list[Point]:
    """Calls simpler than ``cost`` that break the same rules and have not been seen, the simplest
    first.
    """
    options = [dict(one) for one in chosen]
    calls = assemble(point.spec, options) if options else []
    found = [
        Point(point.spec, call, one)
        for call, one in zip(calls, options, strict=True)
        if complexity(call) < cost
    ]
    unique = {_key(one.call): one for one in found if _key(one.call) not in seen}
    seen |= unique.keys()
    points = list(unique.values())
    if not points:
        return []
    judged = judge(
        point.spec, from_calls(point.spec.api, point.spec.kinds, [one.call for one in points])
    )
    ids = np.array([rule.id for rule in point.spec.rules])
    legal = [
        one for i, one in enumerate(points) if frozenset(ids[judged.broken[:, i]].tolist()) == rules
    ]
    return sorted(legal, key=lambda one: one.cost)


def _plainer(search: Search, best: Failing) -> Failing:
    """The same call with simpler data, if it still fails."""
    if not best.storage:
        return best
    search.data = {}
    for recipe in PLAIN:
        if recipe == best.recipe and not best.own:
            return best
        several = [NamedCall(f"{best.id}-{recipe}-{i}", best.call, {}) for i in range(DRAWS)]
        found = [one for one in search.failing(several, recipe) if one.kind == best.kind]
        if found:
            return found[0]
    return best


def _broken(spec: Spec, call: Call) -> frozenset[str]:
    judged = judge(spec, from_calls(spec.api, spec.kinds, [call]))
    return frozenset(rule.id for rule, row in zip(spec.rules, judged.broken, strict=True) if row[0])


def _key(call: Call) -> str:
    return repr(call)
