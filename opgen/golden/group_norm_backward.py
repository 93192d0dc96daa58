"""The gradients of group normalisation, from the supplied mean and rstd.

With xhat = (x - mean) * rstd and h = gradOut * gamma, gradInput = rstd * (h - S(h) / M - xhat * S(h xhat) / M), where S
adds the M elements of a group; gradGammaOut and gradBetaOut add gradOut * xhat and gradOut over samples and space.

The data are summed before anything is divided: gradOut and gradOut * x over space, exactly on a grid. What follows is a
few elementwise operations in a fixed order. Other data are summed by numpy's own loops in an order that depends on the
shape of one case alone, neither on the batch nor on a BLAS.

The sums of absolute terms are the same formulas of absolute values, with plus for minus: of a mean below zero, and with
the sign of M changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isfinite
from typing import NamedTuple

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._absolute import halves
from opgen.golden._columns import blocks

DIFFERENCES = ("gradInput", "gradGammaOut")
"""Outputs that are differences of sums: where Inf or NaN comes in, the form of the sums decides between the two."""
ROOM = 1 << 18  # elements that are worked on at a time: 2 MiB


class Groups(NamedTuple):
    """A batch as groups: x and dy are (B, N, group, D, HxW), mean, rstd and share (B, N, group), gamma (B, group, D).

    share is rstd / M, with the sign of M.
    """

    x: Array
    dy: Array
    mean: Array
    rstd: Array
    share: Array
    gamma: Array


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """gradInput (B, *input shape), gradGammaOut and gradBetaOut (B, *gamma shape), or (B, C) where gamma is null."""
    return evaluated(tensors, names, wanted, range(0))


def magnitude(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """The same sums with every term positive: |x| + |mean| for x - mean, and plus for minus."""
    sizes = {name: None if array is None else positive(name, array) for name, array in tensors.items()}
    return evaluated(sizes, names, wanted, range(cases(tensors)))


def both(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> tuple[dict[str, Array], dict[str, Array]]:
    """The golden and the magnitude."""
    stacks = {name: None if array is None else np.concatenate([array, positive(name, array)]) for name, array in tensors.items()}
    batch = cases(tensors)
    return halves(evaluated(stacks, names, wanted, range(batch, 2 * batch)))


def cases(tensors: Tensors) -> int:
    """How many cases a batch has."""
    x = tensors["input"]
    assert x is not None
    return len(x)


def positive(name: str, array: Array) -> Array:
    """Absolute values, but a mean below zero: it is subtracted."""
    return np.negative(np.abs(array)) if name == "mean" else np.abs(array)


def evaluated(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], added: range) -> dict[str, Array]:
    """The wanted outputs; of the cases ``added`` with plus for minus."""
    g = grouped(tensors, names)
    batch, n, groups, d, space = g.x.shape
    gradient = np.empty(g.x.shape) if "gradInput" in wanted else None
    parameters = np.zeros((2, batch, groups, d))
    suspects: set[int] = set()
    if g.x.size:
        with np.errstate(all="ignore"):  # puts the size of the buffer back, too
            if added:
                g.share[added.start:added.stop] *= -1.0
            if space >= 256:
                np.setbufsize(16)  # else numpy expands a factor per row into it, which costs more than it saves
            for block in blocks((batch, n, groups), max(1, ROOM // (d * space))):
                suspects |= part(g, tuple([slice(*span) for span in block]), gradient, parameters)
    outputs = {"gradInput": gradient, "gradGammaOut": parameters[1], "gradBetaOut": parameters[0]}
    chosen = {name: array for name, array in outputs.items() if name in wanted and array is not None}
    for b in suspects:
        repair(g, b, -1 if b in added else 1, chosen)
    return shaped(chosen, tensors, names)


def grouped(tensors: Tensors, names: Mapping[str, int]) -> Groups:
    """The tensors of a batch by groups; a null gamma is 1."""
    x, dy, mean, rstd, gamma = tensors["input"], tensors["gradOut"], tensors["mean"], tensors["rstd"], tensors["gamma"]
    assert x is not None and dy is not None and mean is not None and rstd is not None
    batch, n, group, d, space = len(x), names["N"], names["group"], names["C"] // names["group"], names["HxW"]
    whole, rows = (batch, n, group, d, space), (batch, n, group)
    rstd = rstd.reshape(rows)
    scale = np.ones((batch, group, d)) if gamma is None else gamma.reshape(batch, group, d)
    return Groups(x.reshape(whole), dy.reshape(whole), mean.reshape(rows), rstd, rstd / max(d * space, 1), scale)


def part(g: Groups, at: tuple[slice, ...], gradient: Array | None, parameters: Array) -> set[int]:
    """The gradients of some groups, of whole cases, of some samples of one, or of one sample; the cases to repair."""
    x, dy, mean, rstd, share = g.x[at], g.dy[at], g.mean[at], g.rstd[at], g.share[at]
    gamma, spread = g.gamma[at[0], None, at[2]], rstd[..., None]
    shape, space = x.shape[:4], x.shape[4]
    dy_rows = dy.reshape(-1, space)
    sums = np.empty((2, *shape))
    total, moment = sums[0], sums[1]
    np.einsum("ij->i", dy_rows, out=total.reshape(-1))
    np.einsum("ij,ij->i", dy_rows, x.reshape(-1, space), out=moment.reshape(-1))
    moment -= total * mean[..., None]
    moment *= spread
    if shape[1] == g.x.shape[1]:
        np.add.reduce(sums, axis=2, out=parameters[:, at[0], at[2]])
    else:
        parameters[:, at[0], at[2]] += np.add.reduce(sums, axis=2)
    folded = np.add.reduce(sums * gamma, axis=4)
    folded *= share
    if gradient is not None:
        slope = folded[1] * rstd
        combine((x, dy, gradient[at]), gamma * spread, slope, slope * mean - folded[0])
    flat = folded.reshape(-1)
    if isfinite(flat.dot(flat)):
        return set()
    return {at[0].start + int(b) for b in np.flatnonzero(~np.isfinite(folded).all((0, 2, 3)))}


def combine(arrays: tuple[Array, Array, Array], factor: Array, slope: Array, constant: Array) -> None:
    """Writes dy * factor + (constant - x * slope), by pieces if a group is larger than a block."""
    d, space = arrays[0].shape[3:]
    a, b, c = factor.reshape(-1, 1), slope.reshape(-1, 1), constant.reshape(-1, 1)
    x, dy, out = arrays[0].reshape(len(b), d * space), arrays[1].reshape(len(a), space), arrays[2].reshape(len(a), space)
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


def repair(g: Groups, b: int, sign: int, outputs: dict[str, Array]) -> None:
    """Replaces the outputs of a case that holds Inf or NaN, term by term as in the definition."""
    rstd, m = g.rstd[b, ..., None, None], sign * max(g.x.shape[3] * g.x.shape[4], 1)
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


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The terms of the longest sum, and the roundings of the terms and of what follows the sum."""
    if output == "gradBetaOut":
        return names["N"] * names["HxW"]
    if output == "gradGammaOut":
        return names["N"] * names["HxW"] + 3
    return names["C"] // names["group"] * names["HxW"] + 10
