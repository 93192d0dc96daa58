"""What a device answered to a case before any number is looked at: a verdict on its statuses, with
what the page and the library say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opgen.bundle.read.reader import Bundle
from opgen.comparison import statuses
from opgen.comparison.alignment import AlignedResults
from opgen.comparison.statuses import (
    CRASHED,
    FAILED,
    INCONCLUSIVE,
    KNOWN,
    LENIENT,
    MISSING,
    PASSED,
    SKIPPED,
    Admissible,
)
from opgen.model import Break, LibraryAnswer, Truth, admits, of_a_check, written

NO_ANSWER = "no answer in the results"


@dataclass(frozen=True, slots=True)
class StatusVerdict:
    """A verdict and its reason. ``cause``: the part of the reason that other cases may share;
    ``rules``: those that the call breaks; ``evidence``: whether a wrong device would have failed;
    ``alone``: whether the nearest valid call, which should be accepted, was not run.
    """

    verdict: str
    detail: str
    cause: str = ""
    rules: tuple[str, ...] = ()
    evidence: bool = False
    alone: bool = False


def admissible(
    bundle: Bundle, row: int, anew: Mapping[int, LibraryAnswer | None] | None = None
) -> Admissible:
    """What page and library admit of one case. What was observed of a library and accepted by
    nobody excuses no device. ``anew``: answers of the library in place of those of the bundle.
    """
    columns = ["codes", "library_codes", "bucket", "library_basis"]
    page, library, bucket, basis = bundle.tables["cases"][columns][row].item()
    known = library and bundle.words["cases.library_basis"][basis] != "observed"
    codes = bundle.codes(library) if known else None
    if anew is not None:
        answer = anew[row]
        codes = answer.codes if answer is not None and answer.accepted else None
    return Admissible(bundle.codes(page), bundle.words["cases.bucket"][bucket], codes)


def status_verdict(
    bundle: Bundle,
    answers: AlignedResults,
    row: int,
    truth: Truth,
    computed: bool,
    anew: Mapping[int, LibraryAnswer | None] | None = None,
) -> StatusVerdict:
    """What to think of the statuses of one case; ``computed``: whether there are goldens, so that
    it should have run; ``anew`` is that of :func:`admissible`.
    """
    if answers.row[row] < 0:
        return StatusVerdict(MISSING, NO_ANSWER, NO_ANSWER)
    if row in answers.faults:
        return StatusVerdict(FAILED, answers.faults[row], answers.faults[row])
    asked, status, error = admissible(bundle, row, anew), answers.status(row), answers.error(row)
    verdict, cause = statuses.of_first_phase(asked, status, truth)
    if status == 0 and verdict in (PASSED, LENIENT, KNOWN):
        run, reason = statuses.of_run(answers.status(row, run=True))
        if run != PASSED and (run != SKIPPED or computed):
            return StatusVerdict(run, ": ".join(filter(None, (reason, error))), reason)
    near = bundle[row].nearest_valid if verdict == PASSED and status != 0 else ""
    without = _number(bundle, answers, near) if near else None
    if without is not None and (without == status or not (without == 0 or of_a_check(without))):
        reason = f"its nearest valid call is refused too, with {without}"
        return StatusVerdict(INCONCLUSIVE, f"{reason}: {near}", reason)
    explained = verdict == LENIENT or (verdict == FAILED and isinstance(status, int))
    breaks = bundle[row].expect.breaks if explained else ()
    detail = "; ".join((cause, *map(_in_words, breaks[:3])))
    library = asked.library if truth != "page" else None
    if verdict == LENIENT and library is not None and not admits(library, 0):
        detail += f"; the published library answers {written(library)}"
    if verdict in (FAILED, CRASHED, SKIPPED):
        detail = ": ".join(filter(None, (detail, error)))
    return StatusVerdict(
        verdict,
        detail,
        cause,
        tuple(broken.rule for broken in breaks),
        evidence=verdict == PASSED and not asked.open(truth),
        alone=bool(near) and without is None,
    )


def _number(bundle: Bundle, answers: AlignedResults, case: str) -> int | None:
    """The number that a case was answered with; None where it was not run to its status."""
    row = bundle.rows.get(case, -1)
    status = answers.status(row) if row >= 0 and answers.row[row] >= 0 else None
    return status if isinstance(status, int) else None


def _in_words(broken: Break) -> str:
    line = f" (line {broken.at})" if broken.at is not None else ""
    return f"{broken.rule}{line}: {broken.found}"
