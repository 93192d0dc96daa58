"""The gradient of the softmax along one axis, from its saved result."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from opgen.golden import Array, ProbeCall, Tensors, present
from opgen.golden._absolute import Outputs
from opgen.golden._elementwise import Names, Operands, depth, functions, of_result
from opgen.golden._running_error import Tracked
from opgen.golden._softmax import axis, log_softmax
from opgen.numerics import functions as exact

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude", "saved"]

VERSION = 1
PROBES = [
    ProbeCall({"dim": dim}, {"gradOutput": shape, "output": shape}, ("out",))
    for dim, shape in [(0, (5, 7)), (-1, (5, 300)), (0, ())]
]


def by_rows(names: Names, shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, ...]:
    """All tensors, unless the softmax is along the first axis."""
    return tuple(shapes) if names["dim"] % max(len(shapes["output"]), 1) else ()


def formula(of: Operands, names: Names) -> Tracked:
    """Line 33 of the page, aclnnSoftmaxBackward.md; of a number alone, the axis is itself."""
    y, dy = of["output"], of["gradOutput"]
    terms = dy * y
    rank = terms.value.ndim - 1
    if not rank:
        return terms - terms * y
    return terms - terms.sum(1 + names["dim"] % rank) * y


golden, magnitude, both = functions(formula, "out")


def saved(tensors: Tensors, names: Names) -> Outputs:
    """The result of a forward."""
    (x,) = present(tensors, "output")
    return {"output": exact.exp(log_softmax(x, names))}


def softmax(x: Array, names: Names) -> Array:
    """The forward; of a number alone, 1."""
    if x.ndim == 1:
        return np.ones_like(x)
    powers = np.exp(x)
    result: Array = powers / powers.sum(axis(x, names), keepdims=True)
    return result


FORWARD = of_result(softmax, "out")
