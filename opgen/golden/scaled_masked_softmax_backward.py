"""The gradient of a softmax along the last axis, from its saved result: scaled, and 0 where a mask
is set.
"""

from __future__ import annotations

from opgen.golden import ProbeCall
from opgen.golden._elementwise import Names, Operands, depth, functions
from opgen.golden._tracked import Tracked, either

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 1
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
