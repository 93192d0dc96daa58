"""The gradients of a ReLU whose slope below 0 is a weight, one of all channels or one of each."""

from __future__ import annotations

from math import prod

import numpy as np

from opgen.golden import Array, ProbeCall, Tensors
from opgen.golden._elementwise import Names, Operands, depth, masked
from opgen.golden._normalized import RowLayout, functions
from opgen.golden._running_error import Tracked

__all__ = ["FACTORS", "PROBES", "VERSION", "both", "depth", "golden", "magnitude"]

VERSION = 2
FACTORS = {"gradWeight": ("gradOutput", "self")}
PROBES = [
    ProbeCall({}, {"gradOutput": grad, "self": x, "weight": weight}, ("gradInput", "gradWeight"))
    for grad, x, weight in [((2, 3, 5), (2, 3, 5), (3,)), ((5,), (4, 5), (1,)), ((), (), ())]
]


def laid(tensors: Tensors) -> RowLayout:
    """Samples, channels and the elements of each: gradOutput and self (B, N, C, R), weight
    (B, 1, C or 1, 1).
    """
    dy, x, weight = (tensors[name] for name in ("gradOutput", "self", "weight"))
    assert dy is not None and x is not None and weight is not None
    shape = x.shape[1:]
    samples, channels = shape[:2] if len(shape) > 1 else (prod(shape), 1)
    rows = (len(x), samples, channels, prod(shape[2:]))
    wide = dy.reshape(len(x), *(1,) * (x.ndim - dy.ndim), *dy.shape[1:])
    return RowLayout(
        {
            "gradOutput": np.broadcast_to(wide, x.shape).reshape(rows),
            "self": x.reshape(rows),
            "weight": weight.reshape(len(x), 1, -1, 1),
        },
        {"gradInput": shape, "gradWeight": weight.shape[1:]},
    )


def formula(of: Operands, names: Names) -> dict[str, Tracked]:
    """Lines 32 to 48 of the page, aclnnPreluBackward.md; a device that flushes subnormals may find
    those above 0 to be 0.
    """
    dy, x, weight = of["gradOutput"], of["self"], of["weight"]
    above = x.value > 0
    lost = above & (x.error > 0)
    nothing = np.isnan(x.value)
    below = masked(dy * x, ~above).unless(nothing)
    channels = weight.value.shape[2]
    terms = Tracked(_by(channels, below.value), _by(channels, below.error))
    dx = dy.where(above, dy * weight, lost).unless(nothing)
    return {
        "gradInput": Tracked(dx.value, np.fmax(dx.error, np.abs(dx.value))),
        "gradWeight": terms.sum(2),
    }


def _by(channels: int, terms: Array) -> Array:
    """The terms of each weight (B, weights, terms)."""
    first = np.moveaxis(terms, 2, 1) if channels != 1 else terms
    return first.reshape(len(terms), channels, -1 if terms.size else 0)


golden, magnitude, both = functions(laid, formula)
