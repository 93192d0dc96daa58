"""A wrong device to try a suite on: ``mutant:NAME``, a correct one with one thing done wrong.
``mutant:nothing`` is correct.

It answers status and outputs of every case. A family of wrong checkers holds all its rules wrong,
``mutant:FAMILY/RULE`` one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.devices import Backend
from opgen.model import CRASH, Code
from opgen.quality.mutants import find_device, refuse_idle
from opgen.quality.mutants.bundle_cases import (
    PageCases,
    cases_by_page,
    device_batches,
)
from opgen.quality.mutants.checkers import Family
from opgen.quality.mutants.device import answer_or_crash
from opgen.quality.mutants.mutant import NOTHING


class MutantBackend(Backend):
    """A mutant by name. No time limit: it is no device that could hang."""

    name, every_product = "mutant", True

    def open(self, bundle: Bundle, cases: Sequence[str]) -> Mapping[str, object]:
        """Find the mutant; FileError where there is none of that name, or no such rule, or where it
        would answer like a correct device; ``nothing`` is one on purpose.
        """
        specs = [of_page.spec for of_page in cases_by_page(bundle)]
        self.mutant, self.rule = find_device(self.device, specs)
        self.bundle, pages = bundle, cases_by_page(bundle, cases)
        refuse_idle([self.mutant], [of_page.spec for of_page in pages])
        return {"note": f"a mutant: {self.mutant.wrong}"}

    def answers(self, cases: Sequence[str]) -> Iterator[Result]:
        """The refused cases of a page behind those that it accepts."""
        for page in cases_by_page(self.bundle, cases):
            statuses = self._statuses(page)
            kernel = NOTHING if isinstance(self.mutant, Family) else self.mutant
            wrong = kernel if kernel.applies(page.spec) else NOTHING
            accepted = np.array([statuses[case] == 0 for case in page.ids])
            for work in device_batches(self.bundle, page, accepted):
                outputs, stop = answer_or_crash(work, wrong)
                ended = CRASH if outputs is None else 0
                for i, case in enumerate(work.batch.ids):
                    own = {name: array[i] for name, array in (outputs or {}).items()}
                    yield Result(case, statuses.pop(case), ended, error=stop, outputs=own)
            yield from (Result(case, status) for case, status in statuses.items())

    def _statuses(self, cases: PageCases) -> dict[str, Code]:
        """Case -> status; of several rules that a family holds wrong the last one's answer
        stands.
        """
        statuses: dict[str, Code] = {**cases.statuses}
        for checker in self.mutant.members(cases.spec) if isinstance(self.mutant, Family) else ():
            if self.rule in ("", checker.rule.id):
                statuses |= checker.answers(cases)
        return statuses
