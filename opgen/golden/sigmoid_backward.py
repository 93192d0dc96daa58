"""The gradient of the sigmoid, from its saved result."""

from __future__ import annotations

import numpy as np

from opgen.golden import Array
from opgen.golden._elementwise import of_result
from opgen.golden._saved_result import PROBES as REAL
from opgen.golden._saved_result import Minus, depth, functions, times

__all__ = ["FORWARD", "PROBES", "VERSION", "depth", "golden", "magnitude"]

VERSION = 1
PROBES = [*REAL, REAL[1]._replace(complex=True)]


def derivative(result: Array, minus: Minus) -> Array:
    """Line 36 of the page, aclnnSigmoidBackward.md."""
    return times(result, minus(1, result), minus)


golden, magnitude = functions(derivative)
FORWARD = of_result(lambda x, names: 1 / (1 + np.exp(-x)))
