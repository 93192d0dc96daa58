"""The gradients of group normalisation, from the supplied mean and rstd.

With xhat = (x - mean) * rstd and h = gradOut * gamma, gradInput = rstd * (h - S(h) / M - xhat * S(h xhat) / M), where S
adds the M elements of a group; gradGammaOut and gradBetaOut add gradOut * xhat and gradOut over samples and space.

The data are summed before anything is divided: gradOut and gradOut * x over space, exactly on a grid. What follows is a
few elementwise operations in a fixed order. Other data are summed by numpy's own loops in an order that depends on the
shape of one case alone, neither on the batch nor on a BLAS.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._axes import BLOCK
from opgen.golden._columns import blocks


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
    batch, n, groups, d, space = g.x.shape
    outputs: dict[str, Array] = {}
    if "gradInput" in wanted:
        outputs["gradInput"] = np.empty(g.x.shape)
    for name in ("gradGammaOut", "gradBetaOut"):
        if name in wanted:
            outputs[name] = np.zeros((batch, groups, d))
    if g.x.size:
        suspects = np.zeros(batch, bool)
        with unbuffered(space):
            for block in blocks((batch, n, groups), max(1, BLOCK // (d * space))):
                part(g, tuple(slice(*span) for span in block), outputs, suspects)
        for b in np.flatnonzero(suspects):
            repair(g, int(b), outputs)
    return shaped(outputs, tensors, names)


@contextmanager
def unbuffered(row: int) -> Iterator[None]:
    """Keeps numpy from expanding a factor per row into its buffer, which costs more than it saves on long rows."""
    if row < 256:
        yield
        return
    size = np.setbufsize(16)
    try:
        yield
    finally:
        np.setbufsize(size)


def part(g: Groups, at: tuple[slice, ...], outputs: dict[str, Array], suspects: Array) -> None:
    """The gradients of some groups, of whole cases, of some samples of one, or of one sample; marks cases to repair."""
    x, dy, mean, rstd, gamma = g.x[at], g.dy[at], g.mean[at], g.rstd[at], g.gamma[at[0], None, at[2]]
    shape, space = x.shape[:4], x.shape[4]
    rows, m = (-1, space), shape[3] * space
    total = np.einsum("ij->i", dy.reshape(rows)).reshape(shape)
    moment = np.einsum("ij,ij->i", dy.reshape(rows), x.reshape(rows)).reshape(shape)
    moment -= total * mean[..., None]
    scaled = moment * rstd[..., None]
    slope = np.add.reduce(scaled * gamma, axis=3) * rstd * rstd / m
    offset = np.add.reduce(total * gamma, axis=3) * rstd / m
    if not isfinite(np.add.reduce(slope, axis=None) + np.add.reduce(offset, axis=None)):
        finite = np.isfinite(slope) & np.isfinite(offset) & np.isfinite(scaled).all(3) & np.isfinite(total).all(3)
        suspects[at[0]] |= ~finite.all((1, 2))
    if "gradGammaOut" in outputs:
        outputs["gradGammaOut"][at[0], at[2]] += np.add.reduce(scaled, axis=1)
    if "gradBetaOut" in outputs:
        outputs["gradBetaOut"][at[0], at[2]] += np.add.reduce(total, axis=1)
    if "gradInput" in outputs:
        combine((x, dy, outputs["gradInput"][at]), gamma * rstd[..., None], slope, slope * mean - offset)


def combine(arrays: tuple[Array, Array, Array], factor: Array, slope: Array, constant: Array) -> None:
    """Writes dy * factor + (constant - x * slope), by pieces if a group is larger than a block."""
    d, space = arrays[0].shape[3:]
    x, dy, out = (array.reshape(-1, d, space) for array in arrays)
    a, b, c = factor.reshape(-1, d, 1), slope.reshape(-1, 1, 1), constant.reshape(-1, 1, 1)
    cuts = blocks((d, space), BLOCK) if len(x) == 1 else (((0, d), (0, space)),)
    for channels, span in cuts:
        at = (slice(None), slice(*channels), slice(*span))
        part = x[at] * b
        np.subtract(c, part, out=part)
        target = out[at]
        np.multiply(dy[at], a[:, slice(*channels)], out=target)
        target += part


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
