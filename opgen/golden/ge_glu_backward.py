"""The gradient of GeGLU, one half of an input times the GELU of the other, from the saved GELU."""

from __future__ import annotations

import numpy as np

from opgen.golden import ProbeCall, Tensors
from opgen.golden._absolute import Outputs
from opgen.golden._elementwise import Names, Operands, depth, passed
from opgen.golden._gated import functions
from opgen.golden._running_error import Tracked
from opgen.golden._softmax import axis
from opgen.golden.gelu_backward_v2 import KAPPA, by_erf, by_tanh
from opgen.numerics.functions import erf, tanh

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude", "saved"]

VERSION = 1
ERF, TANH = 0, 1
PROBES = [
    ProbeCall(
        {"dim": dim, "approximate": way},
        {"gradOutput": half, "self": (4, 6), "gelu": half},
        ("gradInput",),
    )
    for way, dim, half in ((ERF, -1, (4, 3)), (TANH, 0, (2, 6)))
]


def saved(tensors: Tensors, names: Names) -> Outputs:
    """The GELU of the second half."""
    source = tensors["self"]
    assert source is not None
    x = np.split(source, 2, axis(source, names))[1]
    inner = np.sqrt(2 / np.pi) * (x + KAPPA * x * x * x)
    grown = tanh(inner) if names["approximate"] == TANH else erf(x * np.sqrt(0.5))
    return {"gelu": x / 2 * (1 + grown)}


def gate(of: Operands, a: Tracked, b: Tracked, names: Names) -> tuple[Tracked, Tracked]:
    """The first half is multiplied by the GELU of the second: lines 32 to 42 of the page,
    aclnnGeGluBackward.md, are misprinted.
    """
    dy = of["gradOutput"]
    slope = by_tanh(b) if names["approximate"] == TANH else by_erf(b)
    return dy * of["gelu"], passed(dy * a, slope)


golden, magnitude, both = functions(gate, "self", "gradInput")
