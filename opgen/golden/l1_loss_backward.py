"""The gradient of the mean absolute error."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, passed, probe
from opgen.golden._losses import differentiable, reduced
from opgen.golden._running_error import ROUNDOFF, Tracked

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 1
PROBES = [
    probe("gradOutput", "self", "target", output="gradInput", reduction=reduction)
    for reduction in (0, 1, 2)
]


def formula(of: Operands, names: Names) -> Tracked:
    """The sign of the difference, 0 where it is 0: aclnnL1LossBackward.md prints no formula. A
    device that flushes subnormals may find no difference where there is one; that of Inf and Inf,
    or of NaN, has no sign.
    """
    apart = of["self"] - of["target"]
    sign = np.sign(apart.value)
    lost = (np.abs(apart.value) <= apart.error * ROUNDOFF) & (sign != 0)
    slope = Tracked(np.where(np.isnan(sign), 0.0, sign), np.where(lost, 1 / ROUNDOFF, 0.0))
    gradient = passed(of["gradOutput"], slope)
    return reduced(gradient.unless(np.isnan(sign)), apart.value.shape[1:], names)


golden, magnitude, both = functions(formula, "gradInput")
FORWARD = differentiable(lambda x, y, names: np.abs(x - y), "gradInput")
