"""The gradient of a softmax along the last axis, from its saved result: scaled, and 0 where a mask
is set.
"""

from __future__ import annotations

import numpy as np

from opgen.golden import ProbeCall, Tensors, present
from opgen.golden._absolute import Outputs
from opgen.golden._elementwise import Names, Operands, depth, functions
from opgen.golden._running_error import Tracked, either
from opgen.golden._softmax import log_softmax
from opgen.numerics import functions as exact

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude", "saved"]

VERSION = 1
MASKED = -1e4
"""What forwards usually take for a masked element: its power is 0."""
PROBES = [
    ProbeCall({"scale": 3}, {"gradOutput": shape, "y": shape, "mask": mask}, ("out",))
    for shape, mask in [((2, 3, 4, 5), (2, 1, 4, 5)), ((1, 2, 1, 300), (1, 1, 1, 300))]
]


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 18 to 22 of the page, aclnnScaledMaskedSoftmaxBackward.md, with the result taken out or
    not.
    """
    y, dy, scale = of["y"], of["gradOutput"], names["scale"]
    terms = dy * y
    total = terms.sum(-1)
    ways = (terms - total * y, (dy - total) * y)
    gradient = Tracked.of(either(*ways) * scale)
    return gradient.where(of["mask"].value == 0, 0.0)


golden, magnitude, both = functions(formula, "out")


def saved(tensors: Tensors, names: Names) -> Outputs:
    """The result of a forward, whose masked elements are 0 beside any other."""
    x, mask = present(tensors, "y", "mask")
    scores = np.where(mask != 0, MASKED, x)
    return {"y": exact.exp(log_softmax(scores, {"dim": -1}))}
