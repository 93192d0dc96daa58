"""What a device answered to a case before any number is looked at: a verdict on its statuses, with
what the page and the library say.
"""

from __future__ import annotations

from dataclasses import dataclass

from opgen.bundle.read.reader import Bundle
from opgen.comparison import statuses
from opgen.comparison.alignment import AlignedResults
from opgen.comparison.statuses import (
    CRASHED,
    FAILED,
    KNOWN,
    LENIENT,
    MISSING,
    PASSED,
    SKIPPED,
    Admissible,
)
from opgen.model import Break, Truth, admits, written

NO_ANSWER = "no answer in the results"


@dataclass(frozen=True, slots=True)
class StatusVerdict:
    """A verdict and its reason. ``cause``: the part of the reason that other cases may share;
    ``rules``: those that the call breaks.
    """

    verdict: str
    detail: str
    cause: str = ""
    rules: tuple[str, ...] = ()


def admissible(bundle: Bundle, row: int) -> Admissible:
    """What page and library admit of one case."""
    page, library, bucket = bundle.tables["cases"][["codes", "library_codes", "bucket"]][row].item()
    return Admissible(
        bundle.codes(page),
        bundle.words["cases.bucket"][bucket],
        bundle.codes(library) if library else None,
    )


def status_verdict(
    bundle: Bundle, answers: AlignedResults, row: int, truth: Truth, computed: bool
) -> StatusVerdict:
    """What to think of the statuses of one case; ``computed``: whether there are goldens, so that
    it should have run.
    """
    if answers.row[row] < 0:
        return StatusVerdict(MISSING, NO_ANSWER, NO_ANSWER)
    if row in answers.faults:
        return StatusVerdict(FAILED, answers.faults[row], answers.faults[row])
    asked, status, error = admissible(bundle, row), answers.status(row), answers.error(row)
    verdict, cause = statuses.of_first_phase(asked, status, truth)
    if status == 0 and verdict in (PASSED, LENIENT, KNOWN):
        run, reason = statuses.of_run(answers.status(row, run=True))
        if run != PASSED and (run != SKIPPED or computed):
            return StatusVerdict(run, ": ".join(filter(None, (reason, error))), reason)
    explained = verdict == LENIENT or (verdict == FAILED and isinstance(status, int))
    breaks = bundle[row].expect.breaks if explained else ()
    detail = "; ".join((cause, *map(_in_words, breaks[:3])))
    library = asked.library if truth != "page" else None
    if verdict == LENIENT and library is not None and not admits(library, 0):
        detail += f"; the published library answers {written(library)}"
    if verdict in (FAILED, CRASHED, SKIPPED):
        detail = ": ".join(filter(None, (detail, error)))
    return StatusVerdict(verdict, detail, cause, tuple(broken.rule for broken in breaks))


def _in_words(broken: Break) -> str:
    line = f" (line {broken.at})" if broken.at is not None else ""
    return f"{broken.rule}{line}: {broken.found}"
