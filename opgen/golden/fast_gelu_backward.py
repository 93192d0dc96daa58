"""The gradient of the fast GELU, ``x * sigmoid(1.702 * x)``."""

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
from opgen.golden._running_error import Tracked, sigmoid

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "by_rows", "depth", "golden", "magnitude"]

VERSION = 2
PROBES = [probe("gradOutput", "self")]


def formula(of: Operands, names: Names) -> Tracked:
    """Line 31 of the page, aclnnFastGeluBackward.md."""
    x = of["self"]
    s = sigmoid(1.702 * x)
    return passed(of["gradOutput"], ((s - 1) * (-1.702 * x) + 1) * s)


golden, magnitude, both = functions(formula, "gradInput")
FORWARD = of_argument(lambda x: x / (1 + np.exp(-1.702 * x)))
