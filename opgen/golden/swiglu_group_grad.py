"""The gradients of a SwiGLU of weighted rows, whose halves may be clipped."""

from __future__ import annotations

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden._elementwise import Names, Operands, depth, masked
from opgen.golden._normalized import RowLayout, functions
from opgen.golden._running_error import Tracked, joined
from opgen.golden.clipped_swiglu_grad import clipped

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude", "saved"]

VERSION = 1
OUTPUTS = ("gradXOut", "gradWeightOutOptional")
PROBES = [
    ProbeCall(
        {"clampLimit": limit},
        {
            "gradY": (*rows, 3),
            "x": (*rows, 6),
            "weightOptional": (*rows, 1) if weighted else None,
            "yOriginOptional": (*rows, 3) if weighted else None,
            "groupIndexOptional": groups,
        },
        OUTPUTS[: 2 if weighted else 1],
    )
    for limit, rows, weighted, groups in [
        (0.0, (4,), False, None),
        (0.7, (2, 3), True, None),
        (2.5, (5,), True, (2,)),
    ]
]


def laid(tensors: Tensors) -> RowLayout:
    """Inputs of rows, (B, rows, elements); groups as they are."""
    given = {name: array for name, array in tensors.items() if array is not None}
    shape = given["x"].shape[1:]
    inputs = {
        name: a if name == "groupIndexOptional" else a.reshape(len(a), -1, max(a.shape[-1], 1))
        for name, a in given.items()
    }
    return RowLayout(inputs, dict(zip(OUTPUTS, (shape, (*shape[:-1], 1)), strict=True)))


def within(rows: int, groups: Array | None, cases: int) -> Array:
    """(B, rows, 1): whether a row is among those of the groups, of which each has so many."""
    last = np.full(cases, rows) if groups is None else groups.sum(axis=-1)
    return np.arange(rows)[:, None] < last[:, None, None]


def formula(of: Operands, names: Names) -> dict[str, Tracked]:
    """Lines 30 to 90 of the page, aclnnSwigluGroupGrad.md; a limit of 0 clips nothing."""
    x, dy, limit = of["x"], of["gradY"], names["clampLimit"] or np.inf
    half = x.value.shape[-1] // 2
    weighted = dy * of["weightOptional"] if "weightOptional" in of else dy
    parts = clipped(weighted, x[..., :half], x[..., half:], limit, strict=True)
    groups = of["groupIndexOptional"].value if "groupIndexOptional" in of else None
    kept = within(x.value.shape[1], groups, len(x.value))
    found = joined([masked(part, np.broadcast_to(kept, part.value.shape)) for part in parts], -1)
    if "yOriginOptional" not in of:
        return {"gradXOut": found}
    return {"gradXOut": found, "gradWeightOutOptional": (dy * of["yOriginOptional"]).sum(2)}


golden, magnitude, both = functions(laid, formula)


def saved(tensors: Tensors, names: Names) -> dict[str, Array]:
    """Groups of growing size, which leave rows over where they can."""
    (x,), groups = present(tensors, "x"), names["G"]
    rows = int(np.prod(x.shape[1:-1]))
    sizes = rows * np.arange(1, groups + 1) // (groups * (groups + 1))
    return {"groupIndexOptional": np.tile(sizes * 1.0, (len(x), 1))}


def unit(x: Array, limit: float, groups: Array | None) -> Array:
    """The clipped unit; rows of no group are 0."""
    x0, x1 = np.split(x, 2, -1)
    x0, x1 = np.minimum(x0, limit or np.inf), np.clip(x1, -(limit or np.inf), limit or np.inf)
    rows = within(int(np.prod(x.shape[1:-1])), groups, len(x))
    result: Array = x0 / (1 + np.exp(-x0)) * x1 * rows.reshape(*x.shape[:-1], 1)
    return result


def forward(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The unit of the rows of groups, weighted. Its result has the weight in it, so that what the
    page calls the gradient of the weight is that of the weight's logarithm.
    """
    (x,) = present(tensors, "x")
    y = unit(x, names["clampLimit"], tensors["groupIndexOptional"])
    if "weight's logarithm" not in tensors:
        return {"gradY": y}
    (logarithm,) = present(tensors, "weight's logarithm")
    weight = np.exp(logarithm)
    return {"gradY": y * weight, "weightOptional": weight, "yOriginOptional": y * weight}


FORWARD = Differentiable(forward, {"gradXOut": "x", "gradWeightOutOptional": "weight's logarithm"})
