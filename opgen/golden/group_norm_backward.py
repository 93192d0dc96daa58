"""The gradients of group normalisation, from the supplied mean and rstd.

With xhat = (x - mean) * rstd and h = gradOut * gamma, gradInput = rstd * (h - S(h) / M - xhat * S(h
xhat) / M), where S adds the M elements of a group; gradGammaOut and gradBetaOut add gradOut * xhat
and gradOut over samples and space.

The data are summed before anything is divided: gradOut and gradOut * x over space, exactly on a
grid. What follows is a few elementwise operations in a fixed order. Other data are summed by
numpy's own loops in an order that depends on the shape of one case alone, neither on the batch nor
on a BLAS.

The sums of absolute terms are the same formulas of absolute values, with plus for minus: of a mean
below zero, and with the sign of M changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden._absolute import Copies, functions, stacked
from opgen.golden._group_sums import ROOM, Groups, part, parts, repair
from opgen.golden._normalized import statistics
from opgen.numerics.arrays import unbuffered

VERSION = 2
PROBES = [
    ProbeCall(
        {"N": n, "C": c, "HxW": space, "group": group},
        {
            "gradOut": (n, c, space),
            "input": (n, c, space),
            "mean": (n, group),
            "rstd": (n, group),
            "gamma": (c,) if scaled else None,
        },
        ("gradInput", "gradGammaOut", "gradBetaOut"),
    )
    for n, c, space, group, scaled in [
        (2, 6, 5, 3, True),
        (1, 4, 300, 2, False),
        (2, 64, 1100, 4, True),
        (1, 2, 140_000, 1, True),
    ]
]
DIFFERENCES = ("gradInput", "gradGammaOut")
"""Outputs that are differences of sums: where an Inf comes in, the form of the sums decides between
Inf and NaN."""
FACTORS = {"gradBetaOut": ("gradOut",), "gradGammaOut": ("gradOut", "input", "mean", "rstd")}


def cases(tensors: Tensors) -> int:
    """How many cases a batch has."""
    (x,) = present(tensors, "input")
    return len(x)


def positive(tensors: Tensors, copies: Copies) -> dict[str, Array | None]:
    """The tensors and their absolute values, or these alone; but a mean below zero, since it is
    subtracted.
    """
    stacks = {
        name: None if array is None else stacked(array, copies) for name, array in tensors.items()
    }
    mean = stacks["mean"]
    assert mean is not None
    sizes = mean[len(mean) - cases(tensors) :]
    np.negative(sizes, sizes)
    return stacks


def computed(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], copies: Copies
) -> dict[str, Array]:
    """GradInput (B, *input shape), gradGammaOut and gradBetaOut (B, *gamma shape), or (B, C) where
    gamma is null, of all copies; with every term positive |x| + |mean| for x - mean, and plus for
    minus.
    """
    if not copies.absolute:
        return evaluated(tensors, names, wanted, range(0))
    last, batch = copies.number - 1, cases(tensors)
    added = range(last * batch, (last + 1) * batch)
    return evaluated(positive(tensors, copies), names, wanted, added)


golden, magnitude, both = functions(computed)
STATISTICS = ("mean", "rstd")


def saved(tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """The mean and rstd of each group."""
    (x,) = present(tensors, "input")
    size = names["C"] // names["group"] * names["HxW"]
    rows = x.reshape(len(x), names["N"] * names["group"], size)
    return statistics(rows, tensors, "mean", "rstd")


def evaluated(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], added: range
) -> dict[str, Array]:
    """The wanted outputs; of the cases ``added`` with plus for minus."""
    x, dy, mean, rstd = present(tensors, "input", "gradOut", "mean", "rstd")
    gamma = tensors["gamma"]
    batch, groups, channels = len(x), names["group"], names["C"]
    shape = batch, names["N"], groups, channels // groups, names["HxW"]
    gradient = np.empty(x.shape) if "gradInput" in wanted else None
    g = Groups(
        shape, x, dy, gradient, mean, rstd, np.ones((batch, channels)) if gamma is None else gamma
    )
    if not x.size:
        parameters, lost = np.zeros((2, batch, channels)), set[int]()
    else:
        with unbuffered() if g.shape[4] >= 256 else nullcontext():
            parameters, lost = (part if x.size <= ROOM else parts)(g, added)
    parameters = parameters.reshape(2, *g.gamma.shape)
    for case in lost:
        repair(g, case, -1 if case in added else 1, parameters)
    outputs = {} if gradient is None else {"gradInput": gradient}
    if "gradGammaOut" in wanted:
        outputs["gradGammaOut"] = parameters[0]
    if "gradBetaOut" in wanted:
        outputs["gradBetaOut"] = parameters[1]
    return outputs


def gain(tensors: Tensors, names: Mapping[str, int]) -> float:
    """The largest rstd, by which sums are multiplied; at least 1."""
    rstd = tensors["rstd"]
    return max(1.0, float(np.abs(rstd).max())) if rstd is not None and rstd.size else 1.0


def by_rows(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, ...]:
    """Samples, which share gamma."""
    return "gradOut", "input", "mean", "rstd", "gradInput"


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The terms of the longest sum, and the roundings of the terms and of what follows the sum."""
    if output == "gradBetaOut":
        return names["N"] * names["HxW"]
    if output == "gradGammaOut":
        return names["N"] * names["HxW"] + 3
    return names["C"] // names["group"] * names["HxW"] + 10


def forward(tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """The normalised input, and its mean and rstd."""
    x, gamma, beta = present(tensors, "input", "gamma", "beta")
    groups = x.reshape(len(x), names["N"], names["group"], -1)
    mean, rstd = groups.mean(-1), 1 / groups.std(-1)
    unit = ((groups - mean[..., None]) * rstd[..., None]).reshape(x.shape)
    by_channel = (len(x), 1, names["C"], *(1,) * (x.ndim - 3))
    normalised = unit * gamma.reshape(by_channel) + beta.reshape(by_channel)
    return {"gradOut": normalised, "mean": mean, "rstd": rstd}


FORWARD = Differentiable(
    forward, {"gradInput": "input", "gradGammaOut": "gamma", "gradBetaOut": "beta"}
)
