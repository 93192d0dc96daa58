"""The gradient of dropout: elements that a mask of bits keeps are scaled, others are 0."""

from __future__ import annotations

from math import prod

import numpy as np

from opgen.golden import ProbeCall, Tensors
from opgen.golden._absolute import Outputs
from opgen.golden._bits import kept, mask_of
from opgen.golden._elementwise import Names, Operands, depth, masked
from opgen.golden._normalized import RowLayout, functions
from opgen.golden._running_error import Tracked

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude", "saved"]

VERSION = 1
PROBES = [
    ProbeCall({"scale": scale}, {"gradOutput": (5, 7), "mask": (16,)}, ("out",))
    for scale in (1.25, 1.0, 0.0)
]


def saved(tensors: Tensors, names: Names) -> Outputs:
    """A mask of the forward."""
    dy = tensors["gradOutput"]
    assert dy is not None
    return {"mask": mask_of(prod(dy.shape[1:]), len(dy))}


def laid(tensors: Tensors) -> RowLayout:
    """The gradient, and what of it is kept."""
    dy, mask = tensors["gradOutput"], tensors["mask"]
    assert dy is not None and mask is not None
    bits = kept(mask, dy.shape).astype(np.float64)
    return RowLayout({"gradOutput": dy, "mask": bits}, {"out": dy.shape[1:]})


def formula(of: Operands, names: Names) -> dict[str, Tracked]:
    """Line 28 of the page, aclnnDropoutBackward.md: a scale of 0 keeps nothing, one of 1 all."""
    scale, bits = names["scale"], of["mask"].value > 0
    keeps = np.full(bits.shape, scale != 0) & (bits | (scale == 1))
    out = masked(of["gradOutput"] * scale, keeps)
    return {"out": Tracked(out.value, np.fmax(out.error, np.abs(out.value)))}


golden, magnitude, both = functions(laid, formula)
