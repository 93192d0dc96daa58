"""The gradient of softplus, ``log(1 + exp(beta * x)) / beta``."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, passed, probe
from opgen.golden._running_error import Tracked, sigmoid

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude", "thresholds"]

VERSION = 3
PROBES = [probe("gradOutput", "self", beta=0.75, threshold=0.5)]


def thresholds(names: Names) -> tuple[float, ...]:
    """Line 34 of the page, aclnnSoftplusBackward.md: it belongs to the sigmoid."""
    return (names["threshold"] / names["beta"],) if names["beta"] else ()


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 32 to 37, none of which speaks of NaN."""
    z, threshold = of["self"] * names["beta"], names["threshold"]
    curved = z.value <= threshold
    undecided = curved != (z.value.astype(np.float32) <= np.float32(threshold))
    slope = sigmoid(z).where(curved, 1.0, undecided)
    return passed(of["gradOutput"], slope).unless(np.isnan(z.value))


golden, magnitude, both = functions(formula, "gradInput")
