"""The gradients of a grouped SwiGLU that was quantized behind: those of the unit itself."""

from __future__ import annotations

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden._elementwise import Names, Operands, depth, masked
from opgen.golden._normalized import RowLayout, functions
from opgen.golden._running_error import Tracked
from opgen.golden.swiglu_group_grad import OUTPUTS, saved, unit, within
from opgen.golden.swiglu_group_grad import formula as of_unit

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude", "saved"]

VERSION = 1
PROBES = [
    ProbeCall(
        {"clampLimit": limit},
        {
            "gradY": (*rows, 3),
            "x": (*rows, 6),
            "weightOptional": weights,
            "yOriginOptional": (*rows, 3) if weights else None,
            "groupIndexOptional": groups,
        },
        OUTPUTS[: 2 if weights else 1],
    )
    for limit, rows, weights, groups in [
        (-1.0, (4,), None, None),
        (0.7, (2, 3), (2, 3), None),
        (2.5, (5,), (5,), (2,)),
    ]
]


def laid(tensors: Tensors) -> RowLayout:
    """Inputs of rows, (B, rows, elements); groups as they are."""
    given = {name: array for name, array in tensors.items() if array is not None}
    rows = int(np.prod(given["x"].shape[1:-1]))
    inputs = {
        name: a
        if name == "groupIndexOptional"
        else a.reshape(len(a), rows, a[0].size // (rows or 1))
        for name, a in given.items()
    }
    weights = given["weightOptional"].shape[1:] if "weightOptional" in given else ()
    return RowLayout(inputs, dict(zip(OUTPUTS, (given["x"].shape[1:], weights), strict=True)))


def formula(of: Operands, names: Names) -> dict[str, Tracked]:
    """Lines 38 to 110 of the page, aclnnSwigluGroupQuantGrad.md: what is of no group is 0, and a
    limit of -1 clips nothing.
    """
    found = of_unit(of, {"clampLimit": max(names["clampLimit"], 0.0)})
    if OUTPUTS[1] in found and "groupIndexOptional" in of:
        whole, groups = found[OUTPUTS[1]], of["groupIndexOptional"].value
        found[OUTPUTS[1]] = masked(whole, within(whole.value.shape[1], groups, len(groups)))
    return found


golden, magnitude, both = functions(laid, formula)


def forward(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The unit of the rows of groups, weighted; what is saved has no weight in it."""
    (x,) = present(tensors, "x")
    y = unit(x, max(names["clampLimit"], 0.0), tensors["groupIndexOptional"])
    weight = tensors["weightOptional"]
    if weight is None:
        return {"gradY": y}
    return {"gradY": y * weight.reshape(*x.shape[:-1], 1), "yOriginOptional": y}


FORWARD = Differentiable(forward, dict(zip(OUTPUTS, ("x", "weightOptional"), strict=True)))
