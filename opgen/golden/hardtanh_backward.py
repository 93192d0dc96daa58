"""The gradient of a clamp between ``min`` and ``max``."""

from __future__ import annotations

from opgen.golden._elementwise import Names, Operands, depth, functions, masked, probe
from opgen.golden._tracked import Tracked, rounded_across

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude", "thresholds"]

VERSION = 1
PROBES = [probe("gradOutput", "self", output="out", min=-0.5, max=1.25)]


def thresholds(names: Names) -> tuple[float, ...]:
    """Lines 34 and 35 of the page, aclnnHardtanhBackward.md: both belong to the middle."""
    return (names["min"], names["max"])


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 32 to 41."""
    x, low, high = of["self"].value, names["min"], names["max"]
    undecided = rounded_across(x, low) | rounded_across(x, high)
    return masked(of["gradOutput"], (x >= low) & (x <= high), undecided)


golden, magnitude, both = functions(formula, "out")
