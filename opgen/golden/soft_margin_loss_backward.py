"""The gradient of the logistic loss of two classes."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, passed, probe
from opgen.golden._losses import differentiable, reduced
from opgen.golden._running_error import Tracked, exp, sigmoid

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 1
PROBES = [
    probe("gradOutput", "self", "target", output="out", reduction=reduction)
    for reduction in (0, 1, 2)
]


def formula(of: Operands, names: Names) -> Tracked:
    """The derivative of ``log(1 + exp(-target * self))``: aclnnSoftMarginLossBackward.md prints no
    formula. PyTorch computes ``-target * z / (1 + z)`` of an exponential z, so that any value may
    come of one that overflows.
    """
    target = of["target"]
    exponent = -(of["self"] * target)
    share = sigmoid(exponent)
    known = np.isfinite((exp(exponent) * target).error)
    slope = -target * Tracked(share.value, np.where(known, share.error, np.inf))
    gradient = passed(of["gradOutput"], slope)
    return reduced(gradient, exponent.value.shape[1:], names)


golden, magnitude, both = functions(formula, "out")
FORWARD = differentiable(lambda x, y, names: np.log1p(np.exp(-x * y)), "out")
