"""The gradient of a clamp between ``min`` and ``max``."""

from __future__ import annotations

from math import nan

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, masked, probe
from opgen.golden._running_error import Tracked, rounded_across

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude", "thresholds"]

VERSION = 2
PROBES = [probe("gradOutput", "self", output="out", min=-0.5, max=max) for max in (1.25, nan)]


def thresholds(names: Names) -> tuple[float, ...]:
    """Lines 34 and 35 of the page, aclnnHardtanhBackward.md: both belong to the middle."""
    return (names["min"], names["max"])


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 32 to 41. What is neither above nor below is in the middle, by line 36 also where a
    number or a limit is NaN; but a device may find it outside, as torch does in long rows.
    """
    x, low, high = of["self"].value, names["min"], names["max"]
    undecided = rounded_across(x, low) | rounded_across(x, high)
    undecided |= np.isnan(x) | np.isnan([low, high]).any()
    return masked(of["gradOutput"], ~((x > high) | (x < low)), undecided)


golden, magnitude, both = functions(formula, "out")
