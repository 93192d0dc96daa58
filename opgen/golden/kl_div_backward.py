"""The gradient of the divergence of Kullback and Leibler."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, passed, probe
from opgen.golden._losses import differentiable, reduced
from opgen.golden._running_error import Tracked, exp

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 1
PROBES = [
    probe("gradOutput", "self", "target", output="out", reduction=reduction, logTarget=log)
    for reduction, log in ((0, False), (1, True), (2, False), (3, True))
]


def formula(of: Operands, names: Names) -> Tracked:
    """The derivative of ``target * (log(target) - self)`` or, with the logarithms of targets, of
    ``exp(target) * (target - self)``: aclnnKlDivBackward.md prints no formula. Where a target is
    not above 0, a device may select a 0.
    """
    target = of["target"]
    share = exp(target) if names["logTarget"] else target
    gradient = passed(-of["gradOutput"], share)
    return reduced(gradient, of["self"].value.shape[1:], names)


golden, magnitude, both = functions(formula, "out")
FORWARD = differentiable(lambda x, y, names: -x * (np.exp(y) if names["logTarget"] else y), "out")
