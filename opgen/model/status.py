"""What a device answers: status codes of aclnn, and words beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeAlias

Code: TypeAlias = int | str
"""A status code of aclnn (``161002``), or a word."""
ANY_ERROR, CRASH = "any_error", "crash"
"""The words among admissible codes: every code that an argument check returns, and the end of the
host process."""
TIMEOUT, NOT_RUN, UNUSABLE, OVERRUN = "timeout", "skipped", "unusable", "overrun"
"""What backends record beside numbers and ``crash``: no answer in time; a case that they cannot
run; memory or a copy refused; memory overwritten that is no output's."""
STATUS_WORDS = (CRASH, TIMEOUT, NOT_RUN, UNUSABLE, OVERRUN)
"""What a device may answer instead of a number."""


def of_a_check(status: Code | None) -> bool:
    """Whether an argument check returns a status: 161001, 161002, and every 561xxx. Any other error
    is the runtime's, which a lost device returns to every call.

    >>> of_a_check(161002), of_a_check(561103), of_a_check(507899), of_a_check(-1)
    (True, True, False, False)
    """
    return isinstance(status, int) and (status in (161001, 161002) or status // 1000 == 561)


def admits(codes: Collection[Code], status: Code) -> bool:
    """Whether a status is one of the admissible ones.

    >>> admits((0, "any_error"), 561103), admits((0, "any_error"), 507899)
    (True, False)
    """
    return status in codes or (ANY_ERROR in codes and of_a_check(status))


def written(codes: Iterable[Code]) -> str:
    """Codes for people.

    >>> written((161001, 161002)), written((161002, "any_error")), written((0, "any_error"))
    ('161001 or 161002', '161002 or any other error', '0 or any error')
    """
    listed = list(codes)
    rest = (
        "any other error"
        if any(isinstance(code, int) and code != 0 for code in listed)
        else "any error"
    )
    return " or ".join(rest if code == ANY_ERROR else str(code) for code in listed)
