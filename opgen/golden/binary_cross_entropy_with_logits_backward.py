"""The gradient of the binary cross entropy of logits."""

from __future__ import annotations

from opgen.golden._elementwise import Names, Operands, depth, functions, passed, probe
from opgen.golden._losses import reduced
from opgen.golden._running_error import Tracked, either, sigmoid

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 1
INPUTS = ("gradOutput", "self", "target")
WEIGHTS = ("weightOptional", "posWeightOptional")
PROBES = [
    probe(*INPUTS, *weights, output="out", reduction=reduction)
    for reduction, weights in ((0, ()), (1, WEIGHTS), (2, WEIGHTS[1:]))
]


def formula(of: Operands, names: Names) -> Tracked:
    """The derivative of ``(1 - y) * x + (1 + (p - 1) * y) * log(1 + exp(-x))``, with the sigmoid of
    x or of -x: aclnnBinaryCrossEntropyWithLogitsBackward.md prints no formula.
    """
    x, y = of["self"], of["target"]
    s, rest = sigmoid(x), sigmoid(-x)
    if "posWeightOptional" in of:
        p = of["posWeightOptional"]
        positive = y * p
        slope = either(s * (positive + 1 - y) - positive, (1 - y) - ((p - 1) * y + 1) * rest)
    else:
        slope = either(s - y, (1 - y) - rest)
    gradient = passed(of["gradOutput"], slope)
    if "weightOptional" in of:
        gradient = gradient * of["weightOptional"]
    return reduced(gradient, x.value.shape[1:], names)


golden, magnitude, both = functions(formula, "out")
