"""The gradients of group normalisation, from the supplied mean and rstd.

With xhat = (x - mean) * rstd and h = gradOut * gamma, gradInput = rstd * (h - S(h) / M - xhat * S(h xhat) / M), where S
adds the M elements of a group; gradGammaOut and gradBetaOut add gradOut * xhat and gradOut over samples and space.

Every sum is taken before any division, so that sums are exact for data on a grid; what follows a sum is elementwise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from opgen.golden import Array, Tensors


@dataclass(frozen=True, slots=True)
class Groups:
    """A batch as groups: x and dy are (B, N, group, D, HxW), mean and rstd (B, N, group), gamma (B, group, D)."""

    x: Array
    dy: Array
    mean: Array
    rstd: Array
    gamma: Array


def grouped(tensors: Tensors, names: Mapping[str, int]) -> Groups:
    """The tensors of a batch by groups; a null gamma is 1."""
    x, dy, mean, rstd, gamma = (tensors[name] for name in ("input", "gradOut", "mean", "rstd", "gamma"))
    assert x is not None and dy is not None and mean is not None and rstd is not None
    batch, group, d = len(x), names["group"], names["C"] // names["group"]
    shape = (batch, names["N"], group, d, names["HxW"])
    scale = np.ones((batch, group, d)) if gamma is None else gamma.reshape(batch, group, d)
    return Groups(x.reshape(shape), dy.reshape(shape), mean.reshape(shape[:3]), rstd.reshape(shape[:3]), scale)


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """gradInput (B, *input shape), gradGammaOut and gradBetaOut (B, *gamma shape), or (B, C) where gamma is null."""
    g = grouped(tensors, names)
    total = g.dy.sum(-1)
    moment = (g.dy * (g.x - g.mean[..., None, None])).sum(-1)
    outputs: dict[str, Array] = {}
    if "gradInput" in wanted:
        outputs["gradInput"] = input_gradient(g, total, moment)
    if "gradGammaOut" in wanted:
        outputs["gradGammaOut"] = (moment * g.rstd[..., None]).sum(1)
    if "gradBetaOut" in wanted:
        outputs["gradBetaOut"] = total.sum(1)
    for b in np.flatnonzero(~np.isfinite(total * moment * g.rstd[..., None] * g.gamma[:, None]).all((1, 2, 3))):
        repair(g, int(b), outputs)
    return shaped(outputs, tensors, names)


def shaped(outputs: dict[str, Array], tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """Gives every output the shape of the tensor that it is the gradient of."""
    x, gamma = tensors["input"], tensors["gamma"]
    assert x is not None
    parameters = (len(x), names["C"]) if gamma is None else gamma.shape
    return {name: array.reshape(x.shape if name == "gradInput" else parameters) for name, array in outputs.items()}


def input_gradient(g: Groups, total: Array, moment: Array) -> Array:
    """The gradient of the input from the sums of dy and of dy * (x - mean) over space."""
    m = max(g.x.shape[3] * g.x.shape[4], 1)
    slope = (g.gamma[:, None] * moment).sum(-1) * g.rstd * g.rstd / m
    offset = (g.gamma[:, None] * total).sum(-1) / m
    inner = g.dy * g.gamma[:, None, ..., None] - offset[..., None, None]
    inner -= (g.x - g.mean[..., None, None]) * slope[..., None, None]
    inner *= g.rstd[..., None, None]
    return inner


def repair(g: Groups, b: int, outputs: dict[str, Array]) -> None:
    """Replaces the outputs of a case that holds Inf or NaN, term by term as in the definition."""
    rstd, m = g.rstd[b, ..., None, None], max(g.x.shape[3] * g.x.shape[4], 1)
    with np.errstate(all="ignore"):
        xhat = (g.x[b] - g.mean[b, ..., None, None]) * rstd
        h = g.dy[b] * g.gamma[b, None, ..., None]
        slope = (h * xhat).sum((2, 3), keepdims=True) / m
        values = {
            "gradInput": rstd * (h - h.sum((2, 3), keepdims=True) / m - xhat * slope),
            "gradGammaOut": (g.dy[b] * xhat).sum((0, 3)),
            "gradBetaOut": g.dy[b].sum((0, 3)),
        }
    for name in outputs:
        outputs[name][b] = values[name]


def magnitude(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """The same sums with every term positive: |x| + |mean| for x - mean, and plus for minus."""
    positive = {name: None if array is None else np.abs(array) for name, array in tensors.items()}
    g = grouped(positive, names)
    xhat = (g.x + g.mean[..., None, None]) * g.rstd[..., None, None]
    outputs: dict[str, Array] = {}
    if "gradInput" in wanted:
        h, m = g.dy * g.gamma[:, None, ..., None], max(g.x.shape[3] * g.x.shape[4], 1)
        inner = h + h.sum((3, 4), keepdims=True) / m + xhat * ((h * xhat).sum((3, 4), keepdims=True) / m)
        outputs["gradInput"] = inner * g.rstd[..., None, None]
    if "gradGammaOut" in wanted:
        outputs["gradGammaOut"] = (g.dy * xhat).sum((1, 4))
    if "gradBetaOut" in wanted:
        outputs["gradBetaOut"] = g.dy.sum((1, 4))
    return shaped(outputs, tensors, names)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The terms of the longest sum, and the roundings of the terms and of what follows the sum."""
    if output == "gradBetaOut":
        return names["N"] * names["HxW"]
    if output == "gradGammaOut":
        return names["N"] * names["HxW"] + 3
    return names["C"] // names["group"] * names["HxW"] + 10
