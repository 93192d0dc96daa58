"""The gradient of the binary cross entropy of probabilities."""

from __future__ import annotations

import numpy as np

from opgen.golden._elementwise import Names, Operands, depth, functions, passed, probe
from opgen.golden._losses import reduced
from opgen.golden._running_error import Tracked

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 1
INPUTS = ("gradOutput", "self", "target")
PROBES = [
    probe(*INPUTS, *weight, output="out", reduction=reduction)
    for reduction, weight in ((0, ()), (1, ("weightOptional",)), (2, ()))
]
LEAST = 1e-11
"""Devices, and PyTorch, divide by 1e-12 at least: any value is right near that."""


def formula(of: Operands, names: Names) -> Tracked:
    """Lines 52 and 53 of the page, aclnnBinaryCrossEntropyBackward.md."""
    x = of["self"]
    spread = x * (1 - x)
    slope = (x - of["target"]) / spread
    known = spread.value > LEAST
    bounded = Tracked(np.where(known, slope.value, 0.0), np.where(known, slope.error, np.inf))
    gradient = passed(of["gradOutput"], bounded)
    if "weightOptional" in of:
        gradient = gradient * of["weightOptional"]
    return reduced(gradient, x.value.shape[1:], names)


golden, magnitude, both = functions(formula, "out")
