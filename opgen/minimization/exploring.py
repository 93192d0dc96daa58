"""Calls beyond plans: drawn at random, run on a device, judged, and what fails reduced to causes.

A round draws calls of one page and prefers those with pairs of values that no call had before. Of
those that fail, the simplest one that no known cause explains is reduced.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from time import monotonic
from typing import Unpack

import numpy as np

from opgen.calls.vocabulary import vocabulary
from opgen.comparison.statuses import BAD, INCONCLUSIVE, KNOWN, SKIPPED
from opgen.devices import Backend, Settings
from opgen.devices import backend as backend_of
from opgen.minimization.assignment import Assignment, candidate_of, complexity
from opgen.minimization.cause import Cause, has, needed
from opgen.minimization.failure import Failure
from opgen.minimization.reduction import reduced
from opgen.minimization.trials import JudgedTrial, Trials
from opgen.minimization.value_coverage import ValueCoverage
from opgen.model import NOT_RUN, Call, FileError
from opgen.spec.catalog import catalog
from opgen.spec.spec import Spec
from opgen.suite.given_calls import table_suite
from opgen.suite.naming import case_ids
from opgen.suite.planning.plan_check import shipped_plan
from opgen.suite.random_calls import DrawnCalls, RandomCalls
from opgen.suite.suite import crashing

CALLS = 512
"""Calls of a round, at most."""
CHOICE = 8
"""Calls that are drawn for each that is run."""
REDUCED = 1000
"""Calls that are run to reduce one failure, about, at most."""
MINUTES = 2.0
"""Minutes to draw for, where neither these nor a number of draws are given."""
LOOKED_AT = 40
"""Failing calls of a round, the simplest, of which one is reduced."""


@dataclass
class Explored:
    """What was seen until now: how many calls with which verdict, distinct values and pairs of
    values, and the causes of what failed.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    values: int = 0
    pairs: int = 0
    causes: list[Cause] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """Calls that were drawn and judged."""
        return self.verdicts.total()

    @property
    def failed(self) -> bool:
        """Whether a call failed."""
        return any(self.verdicts[verdict] for verdict in BAD)


class _Page:
    """One page: what draws its calls, and what they covered."""

    def __init__(
        self, spec: Spec, edition: str, seed: int, known: dict[tuple[str, ...], ValueCoverage]
    ) -> None:
        self.plan = shipped_plan(spec.api, edition)
        tier = "full" if "full" in self.plan.tiers else next(iter(self.plan.tiers))
        self.random = RandomCalls(spec, self.plan, tier, seed)
        extents = self.random.extents
        own = ValueCoverage(self.random.names, extents, self.random.sizes)
        # Pages of one operator are of one device as a rule: what is seen on one is seen.
        self.coverage = known.setdefault((spec.api, *(name for name, _ in extents)), own)

    def draw(self, most: int, invalid: bool, product: str) -> DrawnCalls:
        """The calls of a round, which the host survives, for one product if it is known: three in
        four are those with the most that is new, the others any.
        """
        drawn = self.random.draw(self.coverage.aims(CHOICE * most, self.random.random), invalid)
        asked = ~crashing(drawn.judged)
        if product:
            asked &= drawn.judged.table.product == vocabulary().index["product"][product]
        drawn = drawn.take(np.flatnonzero(asked))
        newest = np.argsort(-self.coverage.new(drawn.judged), kind="stable")[: most * 3 // 4]
        others = np.setdiff1d(self.random.random.shuffled(len(drawn)), newest, assume_unique=True)
        return drawn.take(np.concatenate([newest, others])[:most])


def explore(
    operators: Sequence[str],
    backend: str | Backend,
    *,
    minutes: float | None = None,
    draws: float = np.inf,
    causes: float = np.inf,
    seed: int = 0,
    invalid: bool = False,
    edition: str = "",
    most: int = REDUCED,
    progress: Callable[[Explored], None] = lambda explored: None,
    **settings: Unpack[Settings],
) -> Explored:
    """Draw calls of some operators at random, run them and reduce what fails, as ``opgen explore``
    does.

    * ``operators``: names of either form, as for :func:`opgen.generate`.
    * ``backend``, ``settings``: as for :func:`opgen.run`.
    * ``minutes``, ``draws``, ``causes``: stop after so many minutes, drawn calls or reduced
      failures, whatever comes first; by default after :data:`MINUTES`, or never by the clock if
      ``draws`` is given.
    * ``seed``: with the same number of ``draws`` and the same answers, everything is the same.
    * ``invalid``: draw calls that break one rule, not legal ones.
    * ``edition``: the edition of the pages; by default, for each product, its oldest.
    * ``most``: about how many calls may run to reduce one failure.
    * ``progress``: called after every round and every cause.

    Raises FileError if no call can be drawn, or if the backend runs none.
    """
    if minutes is None:
        minutes = MINUTES if draws == np.inf else np.inf
    if isinstance(backend, str):
        backend = backend_of(backend, **settings)
    end, state = monotonic() + 60 * minutes, Explored()
    with tempfile.TemporaryDirectory(prefix="opgen-explore-") as folder, backend.held():
        search = _Search(Trials(backend, 0, Path(folder), edition=edition), state, invalid, most)
        known = catalog(edition)
        product = backend.product
        specs = [
            spec
            for spec in known.pages([known.api(name) for name in operators])
            if not product
            or (product in spec.products and known.by_page[spec.api, product] is spec)
        ]
        if not specs:
            text = f"no page of {', '.join(operators)} is for {product}"
            raise FileError.of("`product`", "", text)
        covered: dict[tuple[str, ...], ValueCoverage] = {}
        pages = [_Page(spec, edition, seed, covered) for spec in specs]
        for page in cycle(pages):
            left = int(min(CALLS, draws - state.calls))
            if left <= 0 or monotonic() >= end or len(state.causes) >= causes:
                break
            failure = search.round(page, left)
            state.values = sum(len(coverage.values) for coverage in covered.values())
            state.pairs = sum(coverage.pairs for coverage in covered.values())
            progress(state)
            if failure and search.reduce(failure):
                progress(state)
    return state


@dataclass
class _Search:
    """Rounds on one device, and what came of them."""

    trials: Trials
    state: Explored
    invalid: bool
    most: int
    known: list[tuple[Failure, Assignment]] = field(default_factory=list)

    def round(self, page: _Page, most: int) -> Failure | None:
        """Draw, run and judge calls; the failing one to reduce, if there is one that no known cause
        explains.
        """
        drawn = page.draw(most, self.invalid, self.trials.backend.product)
        recipes = drawn.recipes.tolist()
        kind = "invalid" if self.invalid else "valid"
        ids = case_ids(drawn.judged, [kind] * len(drawn), [()] * len(drawn), recipes, {})
        rows = {name: row for row, name in enumerate(ids)}  # equal calls have one id
        drawn = drawn.take(np.array(list(rows.values()), dtype=np.int64))
        suite = table_suite(page.plan, drawn.judged, list(rows), drawn.recipes.tolist())
        with self.trials.judged(suite) as judged:
            self.state.verdicts += Counter(v.verdict for v in judged.verdicts.values())
            self._check(judged)
            proved = [judged.verdicts[name].verdict not in (INCONCLUSIVE, KNOWN) for name in rows]
            page.coverage.add(drawn.judged.take(np.flatnonzero(proved)))
            bad = {
                name: judged.bundle[name].asked
                for name, verdict in judged.verdicts.items()
                if verdict.verdict in BAD
            }
            for name in sorted(bad, key=lambda name: complexity(bad[name]))[:LOOKED_AT]:
                failure = judged.failure(name, bad[name], recipes[rows[name]])
                if not self._explained(failure):
                    return failure
        return None

    def _check(self, judged: JudgedTrial) -> None:
        """FileError where no call was drawn, or where a device runs nothing at all."""
        if not self.state.calls:
            raise FileError.of("opgen", "", "no such call could be drawn")
        if not self.state.verdicts.keys() - {SKIPPED}:
            reasons = {answer.error for answer in judged.answers if answer.status == NOT_RUN}
            raise FileError.of("`backend`", "", f"ran no call: {'; '.join(sorted(reasons)[:3])}")

    def _explained(self, failure: Failure) -> bool:
        """Whether a call fails as a known cause does, and has all that this one needs."""
        alike = [part for cause, part in self.known if cause.kind == failure.kind]
        own = candidate_of(self._spec(failure.call), failure.call).chosen if alike else {}
        return any(has(own, part) for part in alike)

    def reduce(self, failure: Failure) -> bool:
        """Reduce a failing call; whether its cause is new."""
        minimal = reduced(self.trials, failure, self.most).failure
        call = minimal.call
        self.known.append((minimal, needed(candidate_of(self._spec(call), call).chosen)))
        new = all(cause.failure.call != call for cause in self.state.causes)
        if new:
            self.state.causes.append(Cause(minimal, failure.call))
        return new

    def _spec(self, call: Call) -> Spec:
        return catalog(self.trials.edition).by_page[call.api, call.product]
