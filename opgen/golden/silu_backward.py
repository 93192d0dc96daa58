"""The gradient of SiLU, ``x * sigmoid(x)``."""

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
from opgen.golden._running_error import Tracked, either, sigmoid

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "by_rows", "depth", "golden", "magnitude"]

VERSION = 1
PROBES = [probe("gradOutput", "self")]


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 32 to 44 of the page, aclnnSiluBackward.md, as printed or with 1 - sigmoid taken
    out.
    """
    x = of["self"]
    s = sigmoid(x)
    slope = either(s * (1 + x - x * s), s * (1 + x * (1 - s)), s + x * s * (1 - s))
    return passed(of["gradOutput"], slope)


golden, magnitude, both = functions(formula, "gradInput")
FORWARD = of_argument(lambda x: x / (1 + np.exp(-x)))
