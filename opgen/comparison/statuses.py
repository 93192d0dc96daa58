"""Verdicts on status codes: what a device answered against what page and library admit."""

from __future__ import annotations

from dataclasses import dataclass

from opgen.model import (
    ANY_ERROR,
    CRASH,
    NOT_RUN,
    TIMEOUT,
    UNUSABLE,
    Code,
    Truth,
    admits,
    written,
)

PASSED, FAILED, CRASHED, MISSING = "passed", "failed", "crashed", "missing"
LENIENT, KNOWN, UNUSUAL = "lenient", "known deviation", "unusual"
INCONCLUSIVE, SKIPPED = "inconclusive", "skipped"
VERDICTS = (FAILED, CRASHED, MISSING, LENIENT, KNOWN, UNUSUAL, INCONCLUSIVE, SKIPPED, PASSED)
"""In the order in which people want to read them."""
BAD = frozenset({FAILED, CRASHED, MISSING})
STRICT = BAD | {LENIENT, KNOWN, UNUSUAL}
"""Verdicts that make ``opgen diff`` exit 1; those of :data:`STRICT` under ``--strict``."""
UNPROVED = "nothing proved: no case passed that a wrong device would fail"
"""What a comparison says that must not be green."""
UNJUDGED = "nothing proved about numbers: no case that has data was judged"
"""What it says where statuses are evidence, but no output was compared with the goldens."""
ENDED = frozenset({CRASH, TIMEOUT})
"""Status words that say how the host process ended; any other word is a fault that the backend
names."""


@dataclass(frozen=True, slots=True)
class Admissible:
    """What may be answered to a case. ``library`` is None where nothing is known of it."""

    page: tuple[Code, ...]
    bucket: str
    library: tuple[Code, ...] | None

    def open(self, truth: Truth) -> bool:
        """Whether a call may be accepted as well as refused: then a status is no evidence."""
        asked = self.library if truth == "library" and self.library is not None else self.page
        return 0 in asked and ANY_ERROR in asked


def of_first_phase(
    asked: Admissible, status: Code | None, truth: Truth = "both"
) -> tuple[str, str]:
    """(verdict, detail) on the status of the first phase; words are those of the backends.

    >>> of_first_phase(Admissible((161002,), "stated", None), 0)
    ('failed', 'status 0, expected 161002')
    """
    if status is None:
        return FAILED, "no status was recorded"
    if status == NOT_RUN:
        return SKIPPED, ""
    library = asked.library if truth != "page" else None
    agrees = library is not None and admits(library, status)
    alone = library if truth == "library" else None
    if isinstance(status, str):
        if agrees:
            admitted = f"the page admits {written(asked.page)}"
            return KNOWN, f"{status}, as the published library does; {admitted}"
        expected = asked.page if alone is None else alone
        verdict = CRASHED if status in ENDED else FAILED
        when = "" if status == UNUSABLE else " in the first phase"  # not even the first, perhaps
        return verdict, f"{status}{when}, expected {written(expected)}"
    if alone is not None:
        if agrees:
            return PASSED, ""
        return FAILED, f"status {status}, the library answers {written(alone)}"
    if admits(asked.page, status):
        doubtful = asked.bucket in ("disputed", "assumed")
        return PASSED, f"{asked.bucket}: the device answers {status}" if doubtful else ""
    if status == 0 and asked.page == (ANY_ERROR,):
        return LENIENT, "accepted, although the page forbids it without naming a code"
    if agrees:
        admitted = f"the page admits {written(asked.page)}"
        return KNOWN, f"status {status}, as the published library; {admitted}"
    return FAILED, f"status {status}, expected {written(asked.page)}"


def of_run(status: Code | None) -> tuple[str, str]:
    """(verdict, detail) on the status of the second phase; None and 0 say that it ran."""
    if status is None or status == 0:
        return PASSED, ""
    if status == NOT_RUN:
        return SKIPPED, "the first phase answers 0, the second was not run"
    if isinstance(status, str):
        return CRASHED if status in ENDED else FAILED, f"{status} in the second phase"
    return FAILED, f"the second phase answers {status}"
