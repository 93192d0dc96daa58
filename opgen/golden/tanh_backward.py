"""The gradient of the hyperbolic tangent, from its saved result."""

from __future__ import annotations

import numpy as np

from opgen.golden import Array
from opgen.golden._elementwise import of_result
from opgen.golden._saved_result import PROBES, Minus, depth, functions, times

__all__ = ["FORWARD", "PROBES", "VERSION", "depth", "golden", "magnitude"]

VERSION = 1


def derivative(result: Array, minus: Minus) -> Array:
    """Line 33 of the page, aclnnTanhBackward.md."""
    return minus(1, times(result, result, minus))


golden, magnitude = functions(derivative)
FORWARD = of_result(lambda x, names: np.tanh(x))
