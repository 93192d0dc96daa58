"""The calls that a plan's author wrote by hand and those of known routes, behind the enumerated
ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from opgen.calls.categorical import Categorical
from opgen.calls.purposes import Purpose, Purposes
from opgen.calls.table import from_calls
from opgen.model import Kind
from opgen.oracle.judgement import Judgement, judge
from opgen.suite.enumeration.enumerator import Enumeration
from opgen.suite.enumeration.routes import known_routes
from opgen.suite.planning.plan import Plan
from opgen.suite.planning.plan_check import handwritten_calls


def with_handwritten(enumeration: Enumeration, plan: Plan, tier: str) -> Enumeration:
    """The enumerated calls and a plan's handwritten ones, one row per product; raises FileError for
    what is no call.
    """
    spec, before = enumeration.judged.spec, len(enumeration.nearest_valid)
    written = [*handwritten_calls(plan, spec, (tier,)), *known_routes(plan, spec, tier)]
    plan.document.raise_problems()
    if not written:
        return enumeration
    pins, calls = zip(*written, strict=True)
    kind: Categorical[Kind] = Categorical.constant("handwritten", len(calls))
    purposes: list[Purposes] = [
        (Purpose("handwritten", name=pin.id, note=pin.why),) for pin in pins
    ]
    recipe = Categorical.of([pin.recipe for pin in pins])
    judged = judge(spec, from_calls(spec.api, spec.kinds, calls))
    return replace(
        enumeration,
        judged=Judgement.concatenate([enumeration.judged, judged]),
        kind=Categorical.concatenate([enumeration.kind, kind]),
        purposes=Categorical.concatenate([enumeration.purposes, Categorical.of(purposes)]),
        recipe=Categorical.concatenate([enumeration.recipe, recipe]),
        nearest_valid=np.concatenate([enumeration.nearest_valid, np.full(len(calls), -1)]),
        given={before + i: pin.data for i, pin in enumerate(pins) if pin.data},
    )
