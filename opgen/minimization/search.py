"""Calls of a search for a simpler failing one: given data and goldens, run on the device, and
judged like any other case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from opgen.bundle.case import CaseView
from opgen.bundle.reader import Bundle
from opgen.bundle.results import Results
from opgen.bundle.resultsfile import ResultsFile
from opgen.calls.jsonl import NamedCall
from opgen.comparison.statuses import BAD
from opgen.comparison.verdicts import diff
from opgen.devices import Run
from opgen.generation import engine
from opgen.minimization.failing import Failing
from opgen.model import Call, TensorDesc, Verdict
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES
from opgen.spec.catalog import catalog
from opgen.suite.planning.fitting import shipped_plan
from opgen.suite.suite import call_suite


class Search:
    """The calls of one search: written, run and judged in a folder that is thrown away.

    ``data`` are inputs by name, for the calls whose inputs have just these shapes and may hold
    them; those of others are drawn.
    """

    def __init__(self, backend: Run, device: str, timeout: float, seed: int, folder: Path) -> None:
        self.backend, self.device, self.timeout, self.seed, self.folder = (
            backend,
            device,
            timeout,
            seed,
            folder,
        )
        self.data: Mapping[str, Array] = {}
        self.ran = 0

    def failing(self, calls: Sequence[NamedCall], recipe: str) -> list[Failing]:
        """Those of the calls that fail, in their order."""
        if not calls:
            return []
        known, forms = (
            catalog(),
            {name: (array.shape, np.iscomplexobj(array)) for name, array in self.data.items()},
        )
        own = {one.id: self.data for one in calls if forms and _forms(one.call) == forms}
        pages, plans = (
            (lambda call: known.by_page[call.api, call.product]),
            (lambda spec: shipped_plan(known.of(spec.api))),
        )
        suite = call_suite(calls, pages, plans, given=own, recipe=recipe)
        self.ran += len(calls)
        bundle, results = self.folder / f"{self.ran}.h5", self.folder / f"{self.ran}.results.h5"
        engine.write(suite, bundle, {"seed": self.seed}, seed=self.seed)
        by_id = {one.id: one.call for one in calls}
        with Bundle(bundle) as file:
            with Results.create(results, file) as out:
                self.backend(
                    file,
                    out,
                    cases=file.ids,
                    device=self.device,
                    timeout=self.timeout,
                    progress=lambda case: None,
                )
            with Results.open(results) as answers:
                verdicts = {one.case: one for one in diff(file, answers)}
                bad = [case for case in file if verdicts[case.id].verdict in BAD]
                found = [
                    replace(
                        _failing(
                            case, by_id[case.id], verdicts[case.id], answers, recipe, self.seed
                        ),
                        own=case.id in own,
                    )
                    for case in bad
                ]
        bundle.unlink()
        results.unlink()
        place = {one.id: i for i, one in enumerate(calls)}
        return sorted(found, key=lambda one: place[one.id])


def _forms(call: Call) -> dict[str, tuple[tuple[int, ...], bool]]:
    """Shape of each input that is no null pointer, and whether it is complex."""
    inputs = catalog().by_page[call.api, call.product].inputs
    return {
        p.name: (desc.shape, DTYPES[desc.dtype].complex)
        for p in inputs
        if isinstance(desc := call.args[p.name], TensorDesc)
    }


def _failing(
    case: CaseView, call: Call, verdict: Verdict, answers: ResultsFile, recipe: str, seed: int
) -> Failing:
    answer = answers[case.id] if case.id in answers else None  # noqa: SIM401  it has no get
    return Failing(
        call=call,
        id=case.id,
        recipe=recipe,
        compute=case.compute,
        seed=seed,
        verdict=verdict.verdict,
        detail=verdict.detail,
        status=answer.status if answer else None,
        run_status=answer.run_status if answer else None,
        codes=case.expect.codes,
        storage=dict(case.storage),
        golden=dict(case.golden),
        bound=dict(case.bound),
        outputs=dict(answer.outputs) if answer else {},
    )
