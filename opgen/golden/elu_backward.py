"""The gradient of ELU, from its input or its result."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, probe
from opgen.golden._running_error import Tracked, exp

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude", "thresholds"]

VERSION = 2
PROBES = [
    probe("gradOutput", "selfOrResult", alpha=1.5, scale=1.25, inputScale=0.75, isResult=known)
    for known in (0, 1)
]


def thresholds(names: Names) -> tuple[float, ...]:
    """Lines 38 and 48 of the page, aclnnEluBackward.md: it belongs to the exponential."""
    return (0.0,)


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 34 to 50, none of which speaks of NaN."""
    x, gradient, scale = of["selfOrResult"], of["gradOutput"], Tracked.of(names["scale"])
    low, inner = scale * names["alpha"], Tracked.of(names["inputScale"])
    slope = x + low if names["isResult"] else low * exp(x * inner)
    result = gradient * scale.where(x.value > 0, slope * inner)
    return result.unless(np.isnan(x.value))


golden, magnitude, both = functions(formula, "gradInput")
