"""The gradient of the logarithm of the softmax along one axis."""

from __future__ import annotations

import numpy as np

from opgen.golden import Array, Tensors, present
from opgen.golden._absolute import Outputs
from opgen.golden._elementwise import Names, Operands, depth, functions, of_result, passed, probe
from opgen.golden._running_error import Tracked, exp
from opgen.golden._softmax import axis, log_softmax

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude", "saved"]

VERSION = 2
PROBES = [probe("gradOutput", "output", output="out", dim=dim) for dim in (0, -1)]


def saved(tensors: Tensors, names: Names) -> Outputs:
    """The output of a forward."""
    (x,) = present(tensors, "output")
    return {"output": log_softmax(x, names)}


def formula(of: Operands, names: Names) -> Tracked:
    """Line 32 of the page, aclnnLogSoftmaxBackward.md."""
    dy = of["gradOutput"]
    return dy - passed(dy.sum(axis(dy.value, names)), exp(of["output"]))


golden, magnitude, both = functions(formula, "out")


def plain(x: Array, names: Names) -> Array:
    """The forward, by its definition."""
    result: Array = x - np.log(np.exp(x).sum(axis(x, names), keepdims=True))
    return result


FORWARD = of_result(plain, "out")
