"""The gradient of the leaky ReLU, from its input or its result."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, probe
from opgen.golden._running_error import Tracked

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude", "thresholds"]

VERSION = 3
PROBES = [probe("gradOutput", "self", output="out", negativeSlope=0.25)]


def thresholds(names: Names) -> tuple[float, ...]:
    """Line 35 of the page, aclnnLeakyReluBackward.md: it belongs to the negative side."""
    return (0.0,)


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 32 to 37, neither of which speaks of NaN."""
    gradient, x = of["gradOutput"], of["self"].value
    return gradient.where(x > 0, gradient * names["negativeSlope"]).unless(np.isnan(x))


golden, magnitude, both = functions(formula, "out")
