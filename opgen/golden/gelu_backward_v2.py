"""The gradient of GELU, by the error function or by the hyperbolic tangent."""

from __future__ import annotations

from math import pi, sqrt

from opgen.golden._elementwise import Names, Operands, depth, functions, passed, probe
from opgen.golden._running_error import Tracked, either, erf, exp, sigmoid, tanh

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 2
PROBES = [probe("gradOutput", "self", approximate=way) for way in ("none", "tanh")]

KAPPA = 0.044715


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 46 to 54 of the page, aclnnGeluBackwardV2.md."""
    slope = by_tanh if names["approximate"] == "tanh" else by_erf
    return passed(of["gradOutput"], slope(of["self"]))


def by_erf(x: Tracked) -> Tracked:
    """The derivative of ``x / 2 * (1 + erf(x / sqrt(2)))``."""
    density = exp(x * x * -0.5) * (1 / sqrt(2 * pi))
    return erf(x * sqrt(0.5)) * 0.5 + 0.5 + x * density


def by_tanh(x: Tracked) -> Tracked:
    """That of ``x / 2 * (1 + tanh(u))``, also with the sigmoid of 2 u in place of the tangent."""
    square, outer = x * x, sqrt(2 / pi)
    inner = (x + square * x * KAPPA) * outer
    grown = (square * (3 * KAPPA) + 1) * outer
    t, s = tanh(inner), sigmoid(inner * 2)
    return either(t * 0.5 + 0.5 + x * 0.5 * (1 - t * t) * grown, s + x * 2 * (s * (1 - s)) * grown)


golden, magnitude, both = functions(formula, "gradInput")
