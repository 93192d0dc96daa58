"""Calls tried on a device: given data and goldens, run, and judged like any other case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import ResultsFile
from opgen.bundle.results.writer import Results
from opgen.calls.jsonl import NamedCall
from opgen.comparison.statuses import BAD
from opgen.comparison.verdicts import diff
from opgen.devices import Backend
from opgen.devices.running import run
from opgen.generation import engine
from opgen.generation.resources import fitting
from opgen.minimization.failure import Failure
from opgen.model import Call, TensorDesc, Verdict
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES
from opgen.spec.catalog import catalog
from opgen.suite.given_calls import call_suite
from opgen.suite.planning.plan_check import shipped_plan
from opgen.suite.suite import Suite


@dataclass
class Trials:
    """The calls of one search, each batch of them a bundle in a folder that is thrown away.

    ``data`` are inputs by name, for calls whose inputs have just these shapes and may hold them;
    the inputs of other calls are drawn. ``edition`` is that of the pages. ``ran`` counts the calls.
    """

    backend: Backend
    seed: int
    folder: Path
    data: Mapping[str, Array] = field(default_factory=dict)
    edition: str = ""
    ran: int = 0

    def failures(self, calls: Sequence[NamedCall], recipe: str) -> list[Failure]:
        """Those of the calls that fail, in their order."""
        if not calls:
            return []
        known = catalog(self.edition)
        own = {named.id: self.data for named in calls if self._may_hold_data(named.call)}
        suite = call_suite(
            calls,
            lambda call: known.by_page[call.api, call.product],
            lambda spec: shipped_plan(spec.api, self.edition),
            given=own,
            recipe=recipe,
        )
        with self.judged(suite) as judged:
            return [
                judged.failure(named.id, named.call, recipe, named.id in own)
                for named in calls
                if judged.verdicts[named.id].verdict in BAD
            ]

    @contextmanager
    def judged(self, suite: Suite) -> Iterator[JudgedTrial]:
        """A suite, run and judged; what it needed is thrown away with the block."""
        suite, self.ran = fitting(suite, "", skip=True), self.ran + len(suite.cases)
        bundle, results = self.folder / f"{self.ran}.h5", self.folder / f"{self.ran}.results.h5"
        edition = {"edition": self.edition} if self.edition else {}
        engine.write(suite, bundle, {"seed": self.seed, **edition}, seed=self.seed)
        with Bundle(bundle) as file:
            run(file, self.backend, results, watch=False)
            with Results.open(results) as answers:
                verdicts = {verdict.case: verdict for verdict in diff(file, answers)}
                yield JudgedTrial(self, file, answers, verdicts)
        bundle.unlink()
        results.unlink()

    def _may_hold_data(self, call: Call) -> bool:
        """Whether the inputs of a call have the shapes of ``data``, and are complex where it is."""
        inputs = catalog().by_page[call.api, call.product].inputs
        return bool(self.data) and {
            name: (desc.shape, DTYPES[desc.dtype].complex)
            for name, desc in {p.name: call.args[p.name] for p in inputs}.items()
            if isinstance(desc, TensorDesc)
        } == {name: (array.shape, np.iscomplexobj(array)) for name, array in self.data.items()}


@dataclass(frozen=True)
class JudgedTrial:
    """A bundle of trials, a device's answers to it, and the verdicts by case."""

    trials: Trials
    bundle: Bundle
    answers: ResultsFile
    verdicts: Mapping[str, Verdict]

    def failure(self, name: str, call: Call, recipe: str, own: bool = False) -> Failure:
        """A case that fails, with everything that shows it."""
        case, verdict = self.bundle[name], self.verdicts[name]
        answer = self.answers[name] if name in self.answers else None  # noqa: SIM401  it has no get
        return Failure(
            call=call,
            id=name,
            recipe=recipe,
            compute=case.compute,
            seed=self.trials.seed,
            verdict=verdict.verdict,
            detail=verdict.detail,
            status=answer.status if answer else None,
            run_status=answer.run_status if answer else None,
            codes=case.expect.codes,
            storage=dict(case.storage),
            golden=dict(case.golden),
            bound=dict(case.bound),
            outputs=dict(answer.outputs) if answer else {},
            own=own,
            guard=self.trials.backend.guard,
        )
