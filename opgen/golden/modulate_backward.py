"""The gradients of a modulation: features times a scale, plus a shift, of each row of a batch."""

from __future__ import annotations

from opgen.golden import Array, Differentiable, ProbeCall, Tensors
from opgen.golden._elementwise import Names, Operands, depth
from opgen.golden._normalized import RowLayout, functions
from opgen.golden._running_error import Tracked

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 1
ROWS, FEATURES = ("grad_output", "input"), ("scale", "shift")
PROBES = [
    ProbeCall(
        {},
        {
            **dict.fromkeys(ROWS, (3, rows, 7)),
            **dict.fromkeys(FEATURES, (3, 7) if scaled else None),
        },
        ("grad_input", "grad_scale", "grad_shift")[: 3 if scaled else 1],
    )
    for rows, scaled in [(5, True), (300, True), (4, False)]
]


def laid(tensors: Tensors) -> RowLayout:
    """Inputs of rows as they are, (B, batch, rows, features); the others with an axis of 1."""
    given = {name: a for name, a in tensors.items() if a is not None}
    inputs = {name: a[:, :, None] if name in FEATURES else a for name, a in given.items()}
    shape = given["input"].shape[1:]
    of_row = dict.fromkeys(("grad_scale", "grad_shift"), (shape[0], shape[2]))
    return RowLayout(inputs, {"grad_input": shape, **of_row})


def formula(of: Operands, names: Names) -> dict[str, Tracked]:
    """Lines 34 to 36 of the page, aclnnModulateBackward.md."""
    dy = of["grad_output"]
    return {
        "grad_input": dy * of["scale"] if "scale" in of else dy,
        "grad_scale": (dy * of["input"]).sum(2),
        "grad_shift": dy.sum(2),
    }


golden, magnitude, both = functions(laid, formula)


def forward(tensors: Tensors, names: Names) -> dict[str, Array]:
    """Features that are scaled and moved."""
    of = laid(tensors).inputs
    return {"grad_output": of["input"] * of.get("scale", 1.0) + of.get("shift", 0.0)}


FORWARD = Differentiable(
    forward, {"grad_input": "input", "grad_scale": "scale", "grad_shift": "shift"}
)
