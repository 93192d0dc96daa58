"""Covering arrays of plans, which anybody may write: what cannot end is refused before it starts,
and what takes minutes says what is left.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import monotonic
from typing import Any

from opgen.model import FileError
from opgen.suite.covering import Model, cover, tuples_asked
from opgen.suite.covering.model import Assignments, Group
from opgen.suite.planning.compiled_plan import CompiledPlan

_log = logging.getLogger(__name__)

MOST_TUPLES = 2**24
"""Combinations of values that a tier may ask for: more would take days, and all memory."""
_MANY_TUPLES = 200_000
"""Combinations from which on it takes minutes to cover them."""
_PERIOD = 10.0
"""Seconds between two reports of what is left."""


def cover_plan(
    compiled: CompiledPlan,
    model: Model,
    strength: int,
    groups: Sequence[Group] = (),
    **more: Any,
) -> Assignments:
    """The rows that cover a request that can end: FileError for one that cannot; what is left of
    one that takes minutes is logged.
    """
    asked, name = tuples_asked(model, strength, groups), compiled.spec.name
    if asked > MOST_TUPLES:
        raise FileError.of(
            compiled.plan.file,
            f"tiers.{compiled.tier}",
            f"asks for {asked:,} combinations of values of {name}, more than {MOST_TUPLES:,}; give"
            " it a smaller strength, groups of fewer axes, or axes of fewer values",
        )
    if asked < _MANY_TUPLES:
        return cover(model, strength, groups=groups, **more)
    _log.warning("%s: %s combinations of values take minutes to cover", name, f"{asked:,}")
    said = monotonic()

    def progress(left: int) -> None:
        nonlocal said
        if monotonic() >= said + _PERIOD:
            said = monotonic()
            _log.warning("%s: %s combinations are left", name, f"{left:,}")

    return cover(model, strength, groups=groups, progress=progress, **more)
