"""The gradient of dropout as a product: 0 times Inf or NaN is NaN."""

from __future__ import annotations

from math import prod

import numpy as np

from opgen.golden import ProbeCall, Tensors
from opgen.golden._absolute import Outputs
from opgen.golden._bits import kept, mask_of
from opgen.golden._elementwise import Names, Operands, depth
from opgen.golden._normalized import RowLayout, functions
from opgen.golden._running_error import Tracked

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude", "saved"]

VERSION = 1
PROBES = [ProbeCall({"scale": 1.25}, {"gradY": (5, 7), "mask": (16,)}, ("gradX",))]


def saved(tensors: Tensors, names: Names) -> Outputs:
    """A mask of the forward."""
    dy = tensors["gradY"]
    assert dy is not None
    return {"mask": mask_of(prod(dy.shape[1:]), len(dy))}


def laid(tensors: Tensors) -> RowLayout:
    """The gradient, and 1 where it is kept, else 0."""
    dy, mask = tensors["gradY"], tensors["mask"]
    assert dy is not None and mask is not None
    bits = kept(mask, dy.shape).astype(np.float64)
    return RowLayout({"gradY": dy, "mask": bits}, {"gradX": dy.shape[1:]})


def formula(of: Operands, names: Names) -> dict[str, Tracked]:
    """Line 32 of the page, aclnnDropoutV3Grad.md."""
    return {"gradX": of["gradY"] * of["mask"] * names["scale"]}


golden, magnitude, both = functions(laid, formula)
