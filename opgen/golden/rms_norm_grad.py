"""The gradients of normalisation by the root mean square, from the saved rstd."""

from __future__ import annotations

from math import prod

from opgen.golden import Array, ProbeCall, Tensors, present
from opgen.golden._elementwise import Names, Operands, depth
from opgen.golden._normalized import RowLayout, functions, statistics
from opgen.golden._running_error import Tracked, either

__all__ = ["PROBES", "VERSION", "both", "depth", "golden", "magnitude", "saved"]

VERSION = 1
PROBES = [
    ProbeCall(
        {},
        {"dy": (*rows, *axes), "x": (*rows, *axes), "rstd": rows, "gamma": axes},
        ("dxOut", "dgammaOut"),
    )
    for rows, axes in [((2, 3), (5, 7)), ((4,), (300,)), ((40, 9), (3,))]
]


def laid(tensors: Tensors) -> RowLayout:
    """Rows of normalised elements: dy and x (B, rows, C), rstd (B, rows, 1), gamma (B, 1, C)."""
    dy, x, rstd, gamma = present(tensors, "dy", "x", "rstd", "gamma")
    batch, rows, columns = len(x), prod(rstd.shape[1:]), prod(gamma.shape[1:])
    return RowLayout(
        {
            "dy": dy.reshape(batch, rows, columns),
            "x": x.reshape(batch, rows, columns),
            "rstd": rstd.reshape(batch, rows, 1),
            "gamma": gamma.reshape(batch, 1, columns),
        },
        {"dxOut": x.shape[1:], "dgammaOut": gamma.shape[1:]},
    )


def formula(of: Operands, names: Names) -> dict[str, Tracked]:
    """Lines 40 and 44 of the page, aclnnRmsNormGrad.md, as printed or with rstd taken out of the
    mean.
    """
    dy, x, rstd = of["dy"], of["x"], of["rstd"]
    h, normal = dy * of["gamma"], x * rstd
    count = max(x.value.shape[2], 1)
    mean = either((h * normal).sum(2) / count, ((h * x).sum(2) / count) * rstd)
    return {"dxOut": (h - normal * mean) * rstd, "dgammaOut": (dy * normal).sum(1)}


golden, magnitude, both = functions(laid, formula)
STATISTICS = ("rstd",)


def saved(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The rstd of each row."""
    return statistics(laid(tensors).inputs["x"], tensors, "rstd")
