"""The gradient of the logarithm of the sigmoid; ``buffer`` is not read."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, of_argument, passed, probe
from opgen.golden._running_error import Tracked, sigmoid

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 1
PROBES = [probe("gradOutput", "self", "buffer")]


def formula(of: Operands, names: Names) -> Tracked:
    """Line 37 of the page, aclnnLogSigmoidBackward.md."""
    return passed(of["gradOutput"], sigmoid(-of["self"]))


golden, magnitude, both = functions(formula, "gradInput")
FORWARD = of_argument(lambda x: -np.log1p(np.exp(-x)))
