"""The gradient of SELU, from its saved result."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, probe
from opgen.golden._running_error import Tracked

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 3
PROBES = [probe("gradOutput", "result")]

SCALE, ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 34 to 45 of the page, aclnnSeluBackward.md: for x below 0, where the result y is
    SCALE ALPHA (exp(x) - 1), SCALE ALPHA exp(x) is y + SCALE ALPHA. A result of 0 may have been
    rounded to it, and tells nothing; no line speaks of NaN.
    """
    y, scale = of["result"], Tracked.of(SCALE)
    negative = y + SCALE * ALPHA
    result = of["gradOutput"] * scale.where(y.value >= 0, negative, y.value == 0)
    return result.unless(np.isnan(y.value))


golden, magnitude, both = functions(formula, "gradInput")
