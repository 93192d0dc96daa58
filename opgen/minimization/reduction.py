"""From a failing case to the simplest call that still fails.

Simpler calls are proposed by :mod:`opgen.minimization.simplifications`, labelled by the oracle, and
run and judged by :mod:`opgen.minimization.trials`. A step is taken only to a call that breaks the
same rules as before (none, if it was legal), so the search never leaves what it set out to show.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.calls.jsonl import NamedCall
from opgen.calls.table import from_calls
from opgen.comparison.statuses import CRASHED
from opgen.devices import Backend
from opgen.minimization.assignment import Assignment, Candidate, calls_of, candidate_of, complexity
from opgen.minimization.failure import Failure, elements_of
from opgen.minimization.simplifications import combined, simpler, simpler_in_pairs
from opgen.minimization.trials import Trials
from opgen.model import Call, FileError, Problem
from opgen.numerics.recipes import DEFAULT
from opgen.oracle.judgement import judge
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.naming import case_ids
from opgen.suite.planning.strides import VIEWS

AT_ONCE = (6, 12, 24, 48)
"""Calls that are run together, the simplest ones first. After a crash each round has as few as the
first."""
PLAIN = ("one_hot", "ones", "integers", "grid")
"""Recipes to end with, the simplest data first."""
DRAWS = 4
"""Draws of each of these recipes that are tried: a fault may need luck."""
NAMES = 4
"""Ids that are tried for a minimal call, since its data follow from its id."""
MOST_RUN = 3000
"""Calls that are run at most, where nobody says how many."""


@dataclass(frozen=True)
class Minimal:
    """Where a search ended: the simplest failing call, the elements of the first one, and how many
    calls were run.
    """

    failure: Failure
    before: int
    ran: int


def minimize(
    case: CaseView,
    backend: Backend,
    *,
    seed: int = 0,
    most: int = MOST_RUN,
    edition: str = "",
    progress: Callable[[Failure], None] = lambda failure: None,
) -> Minimal:
    """The simplest call that fails as a case does, found by running at most ``most`` calls on a
    device. ``edition`` is that of the pages that judge them.

    Raises FileError where the case passes when it is run again.
    """
    call = case.asked
    with tempfile.TemporaryDirectory(prefix="opgen-minimize-") as folder, backend.held():
        trials = Trials(backend, seed, Path(folder), dict(case.inputs), edition)
        failures = trials.failures([NamedCall(case.id, call, {})], case.recipe or DEFAULT)
        if not failures:
            text = "passes when it is run again: there is nothing to minimize"
            raise FileError([Problem(case.id, None, "", text)])
        return reduced(trials, failures[0], most, progress)


def reduced(
    trials: Trials,
    failure: Failure,
    most: int = MOST_RUN,
    progress: Callable[[Failure], None] = lambda failure: None,
) -> Minimal:
    """The simplest call that fails as one does that was tried, found in at most ``most`` more
    trials.
    """
    call, ran = failure.call, trials.ran
    spec = catalog(trials.edition).by_page[call.api, call.product]
    (rules,) = _broken(spec, [call])
    reduction = _Reduction(trials, spec, rules, failure, ran + most)
    for simpler_one in reduction.steps():
        progress(simpler_one)
    return Minimal(_named(trials, spec, reduction.best), elements_of(call), trials.ran - ran)


def _named(trials: Trials, spec: Spec, minimal: Failure) -> Failure:
    """A minimal failure under the id of its call, or one like it, with data that show it under such
    an id; as it is where none of a few does.
    """
    judged = judge(spec, from_calls(spec.api, spec.kinds, [minimal.call]))
    kind = "valid" if judged.valid[0] else "invalid"
    for recipe in dict.fromkeys([minimal.recipe, DEFAULT]):
        (name,) = case_ids(judged, [kind], [()], [recipe], {})
        if minimal.own:
            return replace(minimal, id=name)
        names = [name, *(f"{name}.{again}" for again in range(1, NAMES))]
        tried = trials.failures([NamedCall(each, minimal.call, {}) for each in names], recipe)
        for failure in tried:
            if failure.kind == minimal.kind:
                return failure
    return minimal


@dataclass
class _Reduction:
    """A search: the simplest failure so far, and the calls that were seen on the way to it."""

    trials: Trials
    spec: Spec
    rules: frozenset[str]
    best: Failure
    most: int
    seen: set[str] = field(default_factory=set)

    def steps(self) -> Iterator[Failure]:
        """Each simpler failure; ``best`` is the last, with simpler data where those fail too."""
        self._draw()
        candidate, simpler_data = self._start(), True
        while simpler_data:
            self.seen = {repr(self.best.call), repr(candidate.call)}
            while self.trials.ran < self.most and (step := self._step(candidate)):
                candidate, self.best = step
                yield self.best
            simpler_data = self._simplify_data()

    def _draw(self) -> None:
        """Give up the data of the case for those of its recipe, unless the fault needs them; and
        these for everyday data, with which a simpler call does not pass by luck.
        """
        own, self.trials.data = self.trials.data, {}
        if own and not self._fails_with(self.best.recipe, [self.best.id]):
            self.trials.data = own
        elif self.best.storage and self.best.recipe != DEFAULT:
            self._fails_with(DEFAULT, [self.best.id])

    def _simplify_data(self) -> bool:
        """Keep the call and take the simplest recipe with which it fails, if one is simpler than
        its own.
        """
        self.trials.data = {}
        simpler_ones = takewhile(lambda recipe: self.best.own or recipe != self.best.recipe, PLAIN)
        return any(
            self._fails_with(recipe, [f"{self.best.id}-{recipe}-{i}" for i in range(DRAWS)])
            for recipe in (simpler_ones if self.best.storage else ())
        )

    def _fails_with(self, recipe: str, ids: Sequence[str]) -> bool:
        """Whether the best call fails alike with data of a recipe, which then are the best."""
        failures = self._alike([NamedCall(id, self.best.call, {}) for id in ids], recipe)
        if failures:
            self.best = failures[0]
        return bool(failures)

    def _alike(self, calls: Sequence[NamedCall], recipe: str) -> list[Failure]:
        """The calls that fail in the same way as the best one."""
        failures = self.trials.failures(calls, recipe)
        return [failure for failure in failures if failure.kind == self.best.kind]

    def _start(self) -> Candidate:
        """The call itself or, where a tensor's strides have no name, the first view that fails as
        well.
        """
        views = [candidate_of(self.spec, self.best.call, view) for view in range(len(VIEWS))]
        candidates = list({repr(candidate.call): candidate for candidate in views}.values())
        exact = [candidate for candidate in candidates if candidate.call == self.best.call]
        broken = _broken(self.spec, [candidate.call for candidate in candidates])
        legal = [c for c, rules in zip(candidates, broken, strict=True) if rules == self.rules]
        if exact or not legal:
            return (exact or candidates)[0]
        failing = self._failing(legal)
        return failing[0][0] if failing else legal[0]

    def _step(self, candidate: Candidate) -> tuple[Candidate, Failure] | None:
        """A simpler call that fails in the same way: by one change, else by two; None where there
        is none, or ``most`` calls have been run.
        """
        for proposals in (simpler, simpler_in_pairs):
            new = self._new(proposals(candidate), complexity(self.best.call))
            sizes = iter(AT_ONCE[:1] if self.best.verdict == CRASHED else AT_ONCE)
            size = 0
            while new and self.trials.ran < self.most:
                size = min(next(sizes, size), self.most - self.trials.ran)
                failing, new = self._failing(new[:size]), new[size:]
                if failing:
                    return self._together(candidate, [other for other, _ in failing]) or failing[0]
        return None

    def _together(
        self, candidate: Candidate, simpler_ones: list[Candidate]
    ) -> tuple[Candidate, Failure] | None:
        """Several changes that work alone often work together: the simplest such call that
        fails.
        """
        counts = [n for n in (2, 3, 5, 8, len(simpler_ones)) if 1 < n <= len(simpler_ones)]
        several = [combined(candidate, simpler_ones[:count]) for count in counts]
        failing = self._failing(self._new(several, min(c.cost for c in simpler_ones)))
        return failing[0] if failing else None

    def _failing(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, Failure]]:
        """The candidates that fail like the best call so far, the simplest first."""
        names = [f"minimal-{self.trials.ran + i}" for i in range(len(candidates))]
        by_name = dict(zip(names, candidates, strict=True))
        calls = [NamedCall(name, candidate.call, {}) for name, candidate in by_name.items()]
        failures = self._alike(calls, self.best.recipe)
        failing = [(by_name[failure.id], failure) for failure in failures]
        return sorted(failing, key=lambda pair: pair[0].cost)

    def _new(self, assignments: Iterable[Assignment], cost: int) -> list[Candidate]:
        """Calls simpler than ``cost`` that break the same rules and have not been seen, the
        simplest first.
        """
        assignments = list(assignments)
        candidates = {
            repr(call): Candidate(self.spec, call, assignment)
            for call, assignment in zip(calls_of(self.spec, assignments), assignments, strict=True)
            if complexity(call) < cost and repr(call) not in self.seen
        }
        self.seen |= candidates.keys()
        broken = _broken(self.spec, [candidate.call for candidate in candidates.values()])
        legal = [
            candidate
            for candidate, rules in zip(candidates.values(), broken, strict=True)
            if rules == self.rules
        ]
        return sorted(legal, key=lambda candidate: candidate.cost)


def _broken(spec: Spec, calls: Sequence[Call]) -> list[frozenset[str]]:
    """The rules that each call breaks."""
    if not calls:
        return []
    ids = np.array([rule.id for rule in spec.rules])
    broken = judge(spec, from_calls(spec.api, spec.kinds, calls)).broken
    return [frozenset(ids[column].tolist()) for column in broken.T]
