"""From a failing case to the simplest call that still fails.

Simpler calls are proposed by :mod:`opgen.repro.simplify`, labelled by the oracle, given data and goldens, run on the device and judged
like any other case. A step is taken only where the call breaks the same rules as before (none, if it was legal), so the search
never leaves what it set out to show.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from opgen.bundle.case import CaseView
from opgen.bundle.reader import Bundle
from opgen.bundle.results import Results
from opgen.bundle.resultsfile import Result
from opgen.calls.jsonl import NamedCall
from opgen.calls.plain import make_call, to_plain
from opgen.calls.table import from_calls
from opgen.computation import engine
from opgen.devices import Run
from opgen.diff import diff
from opgen.judge.oracle import judge
from opgen.model import Call, Case, Code, FileError, Problem, TensorDesc
from opgen.numbers.arrays import Array
from opgen.numbers.formats import DTYPES
from opgen.numbers.recipes import DEFAULT
from opgen.page.book import book
from opgen.page.spec import Spec
from opgen.planning.fitting import shipped_plan
from opgen.planning.strides import VIEWS
from opgen.repro.simplify import Point, assemble, complexity, merged, point_of, simpler, simpler_in_pairs
from opgen.suites.suite import Suite, call_suite
from opgen.verdict.statuses import BAD, CRASHED

AT_ONCE = (6, 12, 24, 48)
"""Calls that are run together, the simplest ones first; a device that died of the first call is asked few at a time."""
PLAIN = ("one_hot", "ones", "integers", "grid")
"""Recipes to end with, the simplest data first."""


@dataclass(frozen=True)
class Failing:
    """A call that fails, with everything that shows it: storages of the inputs, goldens, bounds, what the device answered.

    ``own``: its data are those of the case that the search began with, and no recipe draws them.
    """

    call: Call
    id: str
    recipe: str
    compute: str
    seed: int
    verdict: str
    detail: str
    status: Code | None
    run_status: Code | None
    codes: tuple[Code, ...]
    storage: Mapping[str, Array]
    golden: Mapping[str, Array]
    bound: Mapping[str, Array]
    outputs: Mapping[str, Array]
    own: bool = False

    @property
    def kind(self) -> tuple[str, Code | None, Code | None]:
        """What must stay the same: the verdict, and words or codes of both phases."""
        return self.verdict, self.status, self.run_status

    @property
    def elements(self) -> int:
        """Elements of all tensors of the call."""
        return elements_of(self.call)

    def plain(self) -> dict[str, Any]:
        """The call as contracts spell it."""
        return {"id": self.id, "op": self.call.api, "product": self.call.product, "args": to_plain(self.call)}


@dataclass(frozen=True)
class Minimal:
    """Where a search ended: the simplest failing call, the elements of the first one, and how many calls were run."""

    failing: Failing
    before: int
    steps: int
    ran: int


def elements_of(call: Call) -> int:
    """Elements of all tensors of a call."""
    return sum(int(np.prod(value.shape, dtype=object)) for value in call.args.values() if isinstance(value, TensorDesc))


class Search:
    """The calls of one search: written, run and judged in a folder that is thrown away.

    ``data`` are inputs by name, for the calls whose inputs have just these shapes and may hold them; those of others are drawn.
    """

    def __init__(self, backend: Run, device: str, timeout: float, seed: int, folder: Path, most: int = 3000) -> None:
        self.backend, self.device, self.timeout, self.seed, self.folder, self.most = backend, device, timeout, seed, folder, most
        self.data: Mapping[str, Array] = {}
        self.ran = 0

    def failing(self, calls: Sequence[NamedCall], recipe: str) -> list[Failing]:
        """Those of the calls that fail, in their order."""
        if not calls:
            return []
        known, forms = book(), {name: (array.shape, np.iscomplexobj(array)) for name, array in self.data.items()}
        own = {one.id: self.data for one in calls if forms and _forms(one.call) == forms}
        pages, plans = (lambda call: known.by_page[call.api, call.product]), (lambda spec: shipped_plan(known.of(spec.api)))
        made = call_suite(calls, pages, plans, given=own)
        suite = with_recipe(made, recipe)
        self.ran += len(calls)
        bundle, results = self.folder / f"{self.ran}.h5", self.folder / f"{self.ran}.results.h5"
        engine.write(suite, bundle, {"seed": self.seed}, seed=self.seed)
        by_id = {one.id: one.call for one in calls}
        with Bundle(bundle) as file:
            with Results.create(results, file) as out:
                self.backend(file, out, cases=file.ids, device=self.device, timeout=self.timeout, progress=lambda case: None)
            with Results.open(results) as answers:
                verdicts = {one.case: one for one in diff(file, answers)}
                bad = [case for case in file if verdicts[case.id].verdict in BAD]
                found = [
                    replace(_failing(case, by_id[case.id], verdicts[case.id], answers, recipe, self.seed), own=case.id in own)
                    for case in bad
                ]
        bundle.unlink()
        results.unlink()
        place = {one.id: i for i, one in enumerate(calls)}
        return sorted(found, key=lambda one: place[one.id])


def _forms(call: Call) -> dict[str, tuple[tuple[int, ...], bool]]:
    """Shape of each input that is no null pointer, and whether it is complex."""
    inputs = book().by_page[call.api, call.product].inputs
    return {p.name: (desc.shape, DTYPES[desc.dtype].complex) for p in inputs if isinstance(desc := call.args[p.name], TensorDesc)}


def _failing(case: CaseView, call: Call, verdict: Any, answers: Any, recipe: str, seed: int) -> Failing:
    answer: Result | None = answers[case.id] if case.id in answers else None  # noqa: SIM401  it has no get
    return Failing(
        call=call, id=case.id, recipe=recipe, compute=case.compute, seed=seed, verdict=verdict.verdict, detail=verdict.detail,
        status=answer.status if answer else None, run_status=answer.run_status if answer else None, codes=case.expect.codes,
        storage=dict(case.storage), golden=dict(case.golden), bound=dict(case.bound), outputs=dict(answer.outputs) if answer else {},
    )  # fmt: skip


def with_recipe(suite: Suite, recipe: str) -> Suite:
    """A suite with the data of another recipe."""
    cases: list[Case] = [case._replace(recipe=recipe) if case.phase == 2 else case for case in suite.cases]
    return replace(suite, cases=cases, batches=[replace(batch, recipe=recipe) for batch in suite.batches])


def minimize(
    case: CaseView, backend: Run, *, device: str = "", timeout: float = 60.0, seed: int = 0, most: int = 3000,
    progress: Callable[[Failing], None] | None = None,
) -> Minimal:  # fmt: skip
    """The simplest call that fails as a case does, found by running at most ``most`` calls on a device.

    Raises FileError where the case passes when it is run again.
    """
    tell = progress or (lambda failing: None)
    spec = book().by_page[case.op, case.product]
    call = make_call(case.op, case.product, case.call["args"], book().kinds)
    recipe = case.recipe or DEFAULT
    with tempfile.TemporaryDirectory(prefix="opgen-minimize-") as folder:
        search = Search(backend, device, timeout, seed, Path(folder), most)
        search.data = dict(case.inputs)
        again = search.failing([NamedCall(case.id, call, {})], recipe)
        if not again:
            raise FileError([Problem(case.id, None, "", "passes when it is run again: there is nothing to minimize")])
        best, steps = _drawn(search, again[0]), 0
        rules = _broken(spec, call)
        point = _named(search, spec, best, rules)
        seen = {_key(best.call), _key(point.call)}
        while search.ran < most:
            found = _step(search, point, best, rules, seen)
            if found is None:
                break
            (point, best), steps = found, steps + 1
            tell(best)
        best = _plainer(search, best)
        return Minimal(best, elements_of(call), steps, search.ran)


def _drawn(search: Search, best: Failing) -> Failing:
    """The same call with data that its recipe draws, and no other data from then on; as it is where the fault needs its own."""
    own, search.data = search.data, {}
    found = [one for one in search.failing([NamedCall(best.id, best.call, {})], best.recipe) if one.kind == best.kind] if own else []
    if not found:
        search.data = own
    return found[0] if found else best


def _named(search: Search, spec: Spec, best: Failing, rules: frozenset[str]) -> Point:
    """Where the search starts: the call itself or, where a tensor's strides have no name, the first view that fails as well."""
    points = {_key(point.call): point for point in (point_of(spec, best.call, view) for view in range(len(VIEWS)))}
    alike = [point for point in points.values() if point.call != best.call and _broken(spec, point.call) == rules]
    if _key(best.call) in points or not alike:
        return points.get(_key(best.call)) or next(iter(points.values()))
    found = _same(search, alike, best)
    return found[0][0] if found else alike[0]


def _step(search: Search, point: Point, best: Failing, rules: frozenset[str], seen: set[str]) -> tuple[Point, Failing] | None:
    """A simpler call that fails in the same way: by one change, else by two; None where there is none."""
    for way in (simpler, simpler_in_pairs):
        candidates = _legal(point, way(point), complexity(best.call), rules, seen)
        sizes = iter((AT_ONCE[0],) * len(candidates) if best.verdict == CRASHED else AT_ONCE)
        size = AT_ONCE[0]
        while candidates and search.ran < search.most:
            size = min(next(sizes, size), search.most - search.ran)
            some, candidates = candidates[:size], candidates[size:]
            found = _same(search, some, best)
            if found:
                return _all_at_once(search, point, [candidate for candidate, _ in found], rules, seen, best) or found[0]
    return None


def _same(search: Search, candidates: Sequence[Point], best: Failing) -> list[tuple[Point, Failing]]:
    """The candidates that fail like the best call so far, the simplest first."""
    named = [NamedCall(f"minimal-{search.ran + i}", one.call, {}) for i, one in enumerate(candidates)]
    failing = {one.id: one for one in search.failing(named, best.recipe) if one.kind == best.kind}
    found = [(point, failing[name.id]) for point, name in zip(candidates, named, strict=True) if name.id in failing]
    return sorted(found, key=lambda pair: pair[0].cost)


def _all_at_once(
    search: Search, point: Point, found: list[Point], rules: frozenset[str], seen: set[str], best: Failing
) -> tuple[Point, Failing] | None:  # fmt: skip
    """Several changes that work alone often work together; the simplest combination that still fails."""
    several = [merged(point, found[:count]) for count in (2, 3, 5, 8, len(found)) if 1 < count <= len(found)]
    both = _legal(point, several, min(one.cost for one in found), rules, seen)
    joined = _same(search, both, best) if both else []
    return joined[0] if joined else None


def _legal(point: Point, chosen: Iterable[Mapping[Any, Any]], cost: int, rules: frozenset[str], seen: set[str]) -> list[Point]:
    """Calls simpler than ``cost`` that break the same rules and have not been seen, the simplest first."""
    options = [dict(one) for one in chosen]
    calls = assemble(point.spec, options) if options else []
    found = [Point(point.spec, call, one) for call, one in zip(calls, options, strict=True) if complexity(call) < cost]
    unique = {_key(one.call): one for one in found if _key(one.call) not in seen}
    seen |= unique.keys()
    points = list(unique.values())
    if not points:
        return []
    judged = judge(point.spec, from_calls(point.spec.api, point.spec.kinds, [one.call for one in points]))
    ids = np.array([rule.id for rule in point.spec.rules])
    legal = [one for i, one in enumerate(points) if frozenset(ids[judged.broken[:, i]].tolist()) == rules]
    return sorted(legal, key=lambda one: one.cost)


def _plainer(search: Search, best: Failing) -> Failing:
    """The same call with simpler data, if it still fails."""
    if not best.storage:
        return best
    search.data = {}
    for recipe in PLAIN:
        if recipe == best.recipe and not best.own:
            return best
        several = [NamedCall(f"{best.id}-{recipe}-{i}", best.call, {}) for i in range(4)]
        found = [one for one in search.failing(several, recipe) if one.kind == best.kind]
        if found:
            return found[0]
    return best


def _broken(spec: Spec, call: Call) -> frozenset[str]:
    judged = judge(spec, from_calls(spec.api, spec.kinds, [call]))
    return frozenset(rule.id for rule, row in zip(spec.rules, judged.broken, strict=True) if row[0])


def _key(call: Call) -> str:
    return repr(call)
