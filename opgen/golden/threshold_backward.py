"""The gradient of a threshold, below which an element is replaced."""

from __future__ import annotations

from opgen.golden._elementwise import Names, Operands, depth, functions, probe
from opgen.golden._running_error import Tracked, rounded_across

__all__ = ["FACTORS", "PROBES", "VERSION", "both", "depth", "golden", "magnitude", "thresholds"]

VERSION = 3
FACTORS = {"out": ("gradOutput",)}
PROBES = [probe("gradOutput", "self", output="out", threshold=0.5)]


def thresholds(names: Names) -> tuple[float, ...]:
    """Line 34 of the page, aclnnThresholdBackward.md: it belongs to what is replaced."""
    return (names["threshold"],)


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 32 to 37."""
    x, threshold = of["self"].value, names["threshold"]
    return of["gradOutput"].where(x > threshold, 0.0, rounded_across(x, threshold))


golden, magnitude, both = functions(formula, "out")
