"""The gradient of the mean squared error."""

from __future__ import annotations

from opgen.golden._elementwise import Names, Operands, depth, functions, probe
from opgen.golden._losses import differentiable, reduced
from opgen.golden._running_error import Tracked

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 2
PROBES = [
    probe("gradOutput", "self", "target", output="out", reduction=reduction)
    for reduction in (0, 1, 2)
]


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 34 to 42 of the page, aclnnMseLossBackward.md: a mean counts the elements of self."""
    x = of["self"]
    gradient = of["gradOutput"] * (x - of["target"]) * 2
    return reduced(gradient, x.value.shape[1:], names)


golden, magnitude, both = functions(formula, "out")
FORWARD = differentiable(lambda x, y, names: (x - y) ** 2, "out")
