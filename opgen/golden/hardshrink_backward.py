"""The gradient of hard shrinkage, which replaces small elements by 0."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, probe
from opgen.golden._running_error import Tracked, rounded_across

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude", "thresholds"]

VERSION = 1
PROBES = [probe("gradOutput", "self", lambd=0.5)]


def thresholds(names: Names) -> tuple[float, ...]:
    """Lines 34 to 36 of the page, aclnnHardshrinkBackward.md: both belong to what is replaced; by
    line 112 lambd is 0 at least.
    """
    limit = max(0.0, names["lambd"])
    return (-limit, limit)


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 32 to 38."""
    size, limit = np.abs(of["self"].value), max(0.0, names["lambd"])
    return of["gradOutput"].where(size > limit, 0.0, rounded_across(size, limit))


golden, magnitude, both = functions(formula, "gradInput")
