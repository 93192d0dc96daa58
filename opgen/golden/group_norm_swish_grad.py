"""The gradients of group normalisation followed by Swish, from the supplied mean and rstd."""

from __future__ import annotations

from math import prod

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden._elementwise import Names, Operands, depth
from opgen.golden._normalized import RowLayout, functions, of_rows, statistics
from opgen.golden._running_error import Tracked, either, sigmoid
from opgen.numerics import functions as exact

__all__ = [
    "DIFFERENCES",
    "FORWARD",
    "PROBES",
    "VERSION",
    "both",
    "depth",
    "golden",
    "magnitude",
    "saved",
]

VERSION = 1
OUTPUTS = {"dxOut": "x", "dgammaOut": "gamma", "dbetaOut": "beta"}
DIFFERENCES = ("dxOut", "dgammaOut")
PROBES = [
    ProbeCall(
        {"numGroups": groups, "swishScale": scale},
        {
            **dict.fromkeys(("dy", "x"), (n, c, *space)),
            **dict.fromkeys(("mean", "rstd"), (n, groups)),
            **dict.fromkeys(("gamma", "beta"), (c,)),
        },
        tuple(OUTPUTS),
    )
    for n, c, space, groups, scale in [
        (2, 6, (5,), 3, 1.0),
        (3, 4, (), 2, 0.5),
        (1, 2, (3, 40), 1, -2.0),
    ]
]


def laid(tensors: Tensors) -> RowLayout:
    """X and dy (B, N, groups, channels, space), the others so that they broadcast."""
    given = {name: a for name, a in tensors.items() if a is not None}
    x, mean = given["x"], given["mean"]
    samples, channels, groups = x.shape[1], x.shape[2], mean.shape[2]
    shape = samples, groups, channels // max(groups, 1), prod(x.shape[3:])
    shapes = dict.fromkeys(("x", "dy"), shape)
    shapes |= dict.fromkeys(("mean", "rstd"), (samples, groups, 1, 1))
    shapes |= dict.fromkeys(("gamma", "beta"), (1, *shape[1:3], 1))
    inputs = {name: a.reshape(len(x), *shapes[name]) for name, a in given.items()}
    return RowLayout(inputs, {out: given[of].shape[1:] for out, of in OUTPUTS.items()})


def formula(of: Operands, names: Names) -> dict[str, Tracked]:
    """Lines 32 to 53 of the page, aclnnGroupNormSwishGrad.md, with the mean over a group."""
    x, mean, rstd, gamma = (of[name] for name in ("x", "mean", "rstd", "gamma"))
    normal = (x - mean) * rstd
    scaled = (normal * gamma + of["beta"]) * names["swishScale"]
    part = sigmoid(scaled)
    dy = (scaled - scaled * part + 1.0) * part * of["dy"]
    h, flat = dy * gamma, (len(x.value), *x.value.shape[1:3], -1)
    dx = of_rows(*(shaped(each, flat) for each in (h, x, mean, rstd)))
    sums = (dy * normal).sum(4), ((dy * x).sum(4) - dy.sum(4) * mean) * rstd
    return {
        "dxOut": dx,
        "dgammaOut": either(*(each.sum(1) for each in sums)),
        "dbetaOut": dy.sum(4).sum(1),
    }


def shaped(x: Tracked, shape: tuple[int, ...]) -> Tracked:
    """The same numbers in another shape."""
    return Tracked(x.value.reshape(shape), x.error.reshape(shape))


golden, magnitude, both = functions(laid, formula)
STATISTICS = ("mean", "rstd")


def saved(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The mean and rstd of each group."""
    x, mean = present(tensors, "x", "mean")
    rows, size = x.shape[1] * mean.shape[2], x.shape[2] // max(mean.shape[2], 1)
    return statistics(x.reshape(len(x), rows, size * prod(x.shape[3:])), tensors, "mean", "rstd")


def forward(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The result, and the mean and rstd of each group."""
    x, mean = present(tensors, "x", "mean")
    groups = x.reshape(len(x), x.shape[1], names["numGroups"], -1)
    saved = {"mean": groups.mean(3), "rstd": 1 / groups.std(3)}
    of = laid({**tensors, **saved}).inputs
    y = (of["x"] - of["mean"]) * of["rstd"] * of["gamma"] + of["beta"]
    result = y * exact.sigmoid(y * names["swishScale"])
    return {"dy": result.reshape(x.shape), **saved}


FORWARD = Differentiable(forward, OUTPUTS)
