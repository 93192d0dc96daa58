"""The calls that a plan pins by hand, as drafted calls."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from opgen.calls.jsonl import CallFault, make_call
from opgen.calls.table import concatenate, from_calls
from opgen.enumeration.enumerator import Drafted
from opgen.model import Call, TensorDesc
from opgen.page.spec import Spec
from opgen.planning.plan import Pinned, Plan


def with_pinned(drafted: Drafted, plan: Plan, tier: str) -> Drafted:
    """The drafted calls and a plan's pinned ones, one row per product; raises FileError for what is no call."""
    spec = drafted.spec
    calls: list[Call] = []
    pins: list[Pinned] = []
    for i, pin in enumerate(plan.pinned):
        if tier not in pin.tiers:
            continue
        listed = [product for product in spec.products if product in spec.judges]
        for product in [product for product in pin.products or listed if product in spec.judges]:
            try:
                call = make_call(spec.api, product, dict(pin.args), {spec.api: spec.kinds})
            except CallFault as fault:
                plan.document.problem(("pinned", i), str(fault), pin.id)
                break
            for name, values in pin.data.items():
                text = _misfit(spec, call, name, values)
                if text:
                    plan.document.problem(("pinned", i, "data"), text, pin.id)
            calls.append(call)
            pins.append(pin)
    plan.document.raise_problems()
    if not calls:
        return drafted
    table = from_calls(spec.api, spec.kinds, calls)
    return replace(
        drafted,
        table=concatenate([drafted.table, table]) if len(drafted.table) else table,
        kind=drafted.kind + ["pinned"] * len(calls),
        intent=drafted.intent + [f"{pin.id}: {pin.why}" for pin in pins],
        recipe=drafted.recipe + [pin.recipe for pin in pins],
        twin=np.concatenate([drafted.twin, np.full(len(calls), -1)]),
        given={len(drafted.kind) + i: pin.data for i, pin in enumerate(pins) if pin.data},
    )


def _misfit(spec: Spec, call: Call, name: str, values: tuple[int, ...]) -> str:
    desc = call.args.get(name)
    if name not in [p.name for p in spec.inputs] or not isinstance(desc, TensorDesc):
        return f"'{name}' is no input tensor of this call"
    return "" if len(values) == prod(desc.shape) else f"'{name}' has {prod(desc.shape)} elements, not {len(values)}"
