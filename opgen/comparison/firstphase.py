"""What a device answered to a case before any number is looked at: a verdict on its statuses, with
what the page and the library say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    record: Any = bundle.tables["cases"][row]
    library = bundle.codes(int(record["library_codes"])) if record["library_codes"] else None
    return Admissible(
        bundle.codes(int(record["codes"])),
        bundle.words["cases.bucket"][int(record["bucket"])],
        library,
    )


def status_verdict(
    bundle: Bundle, answers: AlignedResults, row: int, truth: Truth, computed: bool
) -> StatusVerdict:
    """What to think of the statuses of one case; ``computed``: whether there are goldens, so that
    it should have run.
    """
    if answers.row[row] < 0:
        return _plain(MISSING, "no answer in the results")
    if row in answers.faults:
        return _plain(FAILED, answers.faults[row])
    asked = admissible(bundle, row)
    status = answers.status(row)
    verdict, cause = statuses.of_first_phase(asked, status, truth)
    if status == 0 and verdict in (PASSED, LENIENT, KNOWN):
        run, why = statuses.of_run(answers.status(row, run=True))
        if run != PASSED and (run != SKIPPED or computed):
            return StatusVerdict(run, ": ".join(filter(None, (why, answers.error(row)))), why)
    breaks = (
        bundle[row].expect.breaks
        if verdict == LENIENT or (verdict == FAILED and isinstance(status, int))
        else ()
    )
    detail = cause + "".join(f"; {_said(one)}" for one in breaks[:3])
    if (
        verdict == LENIENT
        and truth != "page"
        and asked.library is not None
        and not admits(asked.library, 0)
    ):
        detail += f"; the published library answers {written(asked.library)}"
    if verdict in (FAILED, CRASHED, SKIPPED) and (error := answers.error(row)):
        detail += f"{': ' if detail else ''}{error}"
    return StatusVerdict(verdict, detail, cause, tuple(one.rule for one in breaks))


def _plain(verdict: str, why: str) -> StatusVerdict:
    return StatusVerdict(verdict, why, why)


def _said(one: Break) -> str:
    return f"{one.rule}{f' (line {one.at})' if one.at is not None else ''}: {one.found}"
