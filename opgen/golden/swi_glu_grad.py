"""The gradient of SwiGLU, ``a * sigmoid(a) * b`` of the two halves of an input."""

from __future__ import annotations

from opgen.golden import ProbeCall
from opgen.golden._elementwise import Names, Operands, depth, passed
from opgen.golden._gated import functions
from opgen.golden._running_error import Tracked, either, sigmoid

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 1
PROBES = [
    ProbeCall({"dim": dim}, {"yGrad": half, "x": (4, 6)}, ("out",))
    for dim, half in ((-1, (4, 3)), (0, (2, 6)))
]


def gate(of: Operands, a: Tracked, b: Tracked, names: Names) -> tuple[Tracked, Tracked]:
    """Lines 33 and 36 of the page, aclnnSwiGluGrad.md, as printed or with a factor taken out."""
    dy, s = of["yGrad"], sigmoid(a)
    slope = either(s + s * (1 - s) * a, s * (1 + a * (1 - s)), s * (1 + a - a * s))
    return passed(dy, slope * b), passed(dy, s * a)


golden, magnitude, both = functions(gate, "x", "out")
