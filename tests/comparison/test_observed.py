"""What was observed of a library excuses a device only once a person has accepted it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import opgen
from opgen.comparison.status_verdicts import admissible
from opgen.comparison.statuses import FAILED, KNOWN, of_first_phase
from opgen.model import Expectation, LibraryAnswer
from tests.support.bundle_sample import sample

FORBIDDEN = Expectation((161002,), "stated")


def test_an_observed_answer_excuses_once_it_is_accepted(tmp_path: Path) -> None:
    given = sample()
    answers = [LibraryAnswer("9.9", (0,), "observed", accepted) for accepted in (False, True)]
    cases = [
        case._replace(page=FORBIDDEN, library=answer)
        for case, answer in zip(given.cases, answers, strict=False)
    ]
    path = replace(given, cases=[*cases, *given.cases[2:]]).write(tmp_path / "suite.h5")
    with opgen.open(path) as bundle:
        assert [bundle[row].library for row in (0, 1)] == answers
        verdicts = [of_first_phase(admissible(bundle, row), 0)[0] for row in (0, 1)]
    assert verdicts == [FAILED, KNOWN]
