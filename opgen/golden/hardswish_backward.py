"""The gradient of hardswish, ``x * min(max(x + 3, 0), 6) / 6``."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import (
    Names,
    Operands,
    by_rows,
    depth,
    functions,
    of_argument,
    passed,
    probe,
)
from opgen.golden._running_error import Tracked, either

__all__ = [
    "FORWARD",
    "PROBES",
    "VERSION",
    "both",
    "by_rows",
    "depth",
    "golden",
    "magnitude",
    "thresholds",
]

VERSION = 2
PROBES = [probe("gradOutput", "self", output="out")]


def thresholds(names: Names) -> tuple[float, ...]:
    """Line 40 of the page, aclnnHardswishBackward.md: both belong to the middle."""
    return (-3.0, 3.0)


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 32 to 42; the second formula of the middle is that of torch. No line speaks of NaN."""
    x = of["self"]
    middle = either(x / 3 + 0.5, (2 * x + 3) / 6)
    slope = middle.where(x.value >= -3, 0.0).where(x.value <= 3, 1.0)
    return passed(of["gradOutput"], slope).unless(np.isnan(x.value))


golden, magnitude, both = functions(formula, "out")
FORWARD = of_argument(lambda x: x * (x + 3).clip(0, 6) / 6, "out")
