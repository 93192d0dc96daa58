"""The cause of failures: a call that cannot be made simpler, and what other calls that fail need to
have of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opgen.calls.vocabulary import vocabulary
from opgen.minimization.assignment import Assignment
from opgen.minimization.failure import Failure
from opgen.model import Call
from opgen.numerics.recipes import DEFAULT


@dataclass(frozen=True)
class Cause:
    """A call that fails and that cannot be made simpler, and the one that was drawn."""

    failure: Failure
    drawn: Call

    @property
    def line(self) -> Mapping[str, object]:
        """The call as a line of a call file has it, with the recipe that draws its data."""
        recipe = {"recipe": self.failure.recipe} if self.failure.recipe != DEFAULT else {}
        return {**self.failure.call_json(), **recipe}


def needed(chosen: Assignment) -> Assignment:
    """What of a minimal call is not as simple as it can be, and therefore part of the cause."""
    plain = vocabulary().index["dtype"]["FLOAT"]
    return {
        (name, what): value
        for (name, what), value in chosen.items()
        if isinstance(value, int | float)
        and (name, what) != ("product", "")
        and what not in ("null", "format", "len")
        and value not in ((plain,) if what == "dtype" else (0, 1))
    }


def has(chosen: Assignment, needed: Assignment) -> bool:
    """Whether a call has the words of a cause, and numbers at least as large."""
    for (name, what), value in needed.items():
        own = chosen.get((name, what), value)
        same = what in ("", "rank") and isinstance(own, int | float) and abs(own) >= abs(value)
        if not same and own != value:
            return False
    return True
