"""The calls that a plan pins by hand, as drafted calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from opgen.calls.aims import Aim
from opgen.calls.table import concatenate, from_calls
from opgen.suite.enumeration.enumerator import Drafted
from opgen.suite.planning.fitting import handwritten_calls
from opgen.suite.planning.plan import Plan


def with_handwritten(drafted: Drafted, plan: Plan, tier: str) -> Drafted:
    """The drafted calls and a plan's handwritten ones, one row per product; raises FileError for
    what is no call.
    """
    spec = drafted.spec
    found = handwritten_calls(plan, spec, (tier,))
    plan.document.raise_problems()
    if not found:
        return drafted
    pins, calls = zip(*found, strict=True)
    table = from_calls(spec.api, spec.kinds, calls)
    return replace(
        drafted,
        table=concatenate([drafted.table, table]) if len(drafted.table) else table,
        kind=drafted.kind + ["handwritten"] * len(calls),
        aims=drafted.aims + [(Aim("handwritten", name=pin.id, note=pin.why),) for pin in pins],
        recipe=drafted.recipe + [pin.recipe for pin in pins],
        nearest_valid=np.concatenate([drafted.nearest_valid, np.full(len(calls), -1)]),
        given={len(drafted.kind) + i: pin.data for i, pin in enumerate(pins) if pin.data},
    )
