"""The gradients of group normalisation, from the supplied mean and rstd.

With xhat = (x - mean) * rstd and h = gradOut * gamma, gradInput = rstd * (h - S(h) / M - xhat * S(h xhat) / M), where S
adds the M elements of a group; gradGammaOut and gradBetaOut add gradOut * xhat and gradOut over samples and space.

The data are summed before anything is divided: gradOut and gradOut * x over space, exactly on a grid. What follows is a
few elementwise operations in a fixed order. Other data are summed by numpy's own loops in an order that depends on the
shape of one case alone, neither on the batch nor on a BLAS.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isfinite
from typing import NamedTuple

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._columns import blocks

DIFFERENCES = ("gradInput", "gradGammaOut")
"""Outputs that are differences of sums: where Inf or NaN comes in, the form of the sums decides between the two."""
ROOM = 1 << 18  # elements that are worked on at a time: 2 MiB


class Groups(NamedTuple):
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
    batch, n, groups, d, space = g.x.shape
    gradient = np.empty(g.x.shape) if "gradInput" in wanted else None
    parameters = np.zeros((2, batch, groups, d))
    suspects: set[int] = set()
    if g.x.size:
        with np.errstate(all="ignore"):  # puts the size of the buffer back, too
            if space >= 256:
                np.setbufsize(16)  # else numpy expands a factor per row into it, which costs more than it saves
            for block in blocks((batch, n, groups), max(1, ROOM // (d * space))):
                suspects |= part(g, tuple([slice(*span) for span in block]), gradient, parameters)
    outputs = {"gradInput": gradient, "gradGammaOut": parameters[1], "gradBetaOut": parameters[0]}
    chosen = {name: array for name, array in outputs.items() if name in wanted and array is not None}
    for b in suspects:
        repair(g, b, chosen)
    return shaped(chosen, tensors, names)


def part(g: Groups, at: tuple[slice, ...], gradient: Array | None, parameters: Array) -> set[int]:
    """The gradients of some groups, of whole cases, of some samples of one, or of one sample; the cases to repair."""
    x, dy, mean, rstd, gamma = g.x[at], g.dy[at], g.mean[at], g.rstd[at], g.gamma[at[0], None, at[2]]
    shape, space = x.shape[:4], x.shape[4]
    dy_rows, spread = dy.reshape(-1, space), rstd[..., None]
    sums = np.empty((2, *shape))
    total, moment = sums
    np.einsum("ij->i", dy_rows, out=total.reshape(-1))
    np.einsum("ij,ij->i", dy_rows, x.reshape(-1, space), out=moment.reshape(-1))
    moment -= total * mean[..., None]
    moment *= spread
    if shape[1] == g.x.shape[1]:
        np.add.reduce(sums, axis=2, out=parameters[:, at[0], at[2]])
    else:
        parameters[:, at[0], at[2]] += np.add.reduce(sums, axis=2)
    folded = np.add.reduce(sums * gamma, axis=4)
    folded *= rstd / (shape[3] * space)
    if gradient is not None:
        slope = folded[1] * rstd
        combine((x, dy, gradient[at]), gamma * spread, slope, slope * mean - folded[0])
    if isfinite(np.add.reduce(folded, axis=None)):
        return set()
    return {at[0].start + int(b) for b in np.flatnonzero(~np.isfinite(folded).all((0, 2, 3)))}


def combine(arrays: tuple[Array, Array, Array], factor: Array, slope: Array, constant: Array) -> None:
    """Writes dy * factor + (constant - x * slope), by pieces if a group is larger than a block."""
    d, space = arrays[0].shape[3:]
    a, b, c = factor.reshape(-1, 1), slope.reshape(-1, 1), constant.reshape(-1, 1)
    x, (dy, out) = arrays[0].reshape(len(b), d * space), (array.reshape(len(a), space) for array in arrays[1:])
    if d * space <= ROOM:
        part = x * b
        np.subtract(c, part, out=part)
        np.multiply(dy, a, out=out)
        out += part.reshape(out.shape)
        return
    x = x.reshape(out.shape)
    for channels, span in blocks((d, space), ROOM):
        rows, at = slice(*channels), (slice(*channels), slice(*span))
        part = x[at] * b
        np.subtract(c, part, out=part)
        np.multiply(dy[at], a[rows], out=out[at])
        out[at] += part


def shaped(outputs: dict[str, Array], tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """Gives every output the shape of the tensor that it is the gradient of."""
    x, gamma = tensors["input"], tensors["gamma"]
    assert x is not None
    parameters = (len(x), names["C"]) if gamma is None else gamma.shape
    return {name: array.reshape(x.shape if name == "gradInput" else parameters) for name, array in outputs.items()}


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
