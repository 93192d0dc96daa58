"""The gradient of GELU; a device may use the hyperbolic tangent in place of the error function."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, passed, probe
from opgen.golden._running_error import Tracked
from opgen.golden.gelu_backward_v2 import by_erf, by_tanh

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 2
PROBES = [probe("gradOutput", "self")]


def formula(of: Operands, names: Names) -> Tracked:
    """Line 47 of the page, aclnnGeluBackward.md; line 53 has another formula, which is not quite
    the same, so that a device may be at either.
    """
    x = of["self"]
    slope = by_erf(x).where(np.ones(x.value.shape, dtype=bool), by_tanh(x), undecided=True)
    return passed(of["gradOutput"], slope)


golden, magnitude, both = functions(formula, "gradInput")
