"""The gradients of normalised groups, from sums over space, some groups at a time."""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

import numpy as np

from opgen.golden import Array
from opgen.golden._columns import blocks

ROOM = 1 << 18  # elements that are worked on at a time: 2 MiB


class Groups(NamedTuple):
    """Groups of a batch: x, dy and the gradient to be written, or None, are (B, N, group, D, HxW),
    mean and rstd (B, N, group).

    gamma is (B, group, D). The arrays have these elements, but any shapes.
    """

    shape: tuple[int, int, int, int, int]
    x: Array
    dy: Array
    gradient: Array | None
    mean: Array
    rstd: Array
    gamma: Array


def part(g: Groups, added: range) -> tuple[Array, set[int]]:
    """Writes the gradients of groups; returns those of gamma and beta (2, B, group * D), and the
    cases to repair.
    """
    batch, n, groups, d, space = g.shape
    dy, x, mean, rstd = (
        g.dy.reshape(-1, space),
        g.x.reshape(-1, space),
        g.mean.reshape(-1),
        g.rstd.reshape(-1),
    )
    sums = np.empty((2, len(dy)))
    moment, total = sums[0], sums[1]
    np.einsum("ij,ij->i", dy, x, out=moment)
    np.einsum("ij->i", dy, out=total)
    scale = rstd.repeat(d)
    moment -= total * mean.repeat(d)
    moment *= scale
    factor = (scale.reshape(batch, n, groups * d) * g.gamma.reshape(batch, 1, groups * d)).reshape(
        -1
    )
    folded = np.add.reduce((sums * factor).reshape(2, -1, d), 2)
    folded /= d * space
    if added:
        negative = folded.reshape(2, batch, n * groups)[:, added.start : added.stop]
        np.negative(negative, negative)
    slope = folded[0] * rstd
    if g.gradient is not None:
        constant = slope * mean
        constant -= folded[1]
        combine(dy, x, g.gradient.reshape(-1, space), factor, slope, constant)
    by_sample, flat = sums.reshape(2, batch, n, groups * d), folded.reshape(-1)
    parameters = np.add.reduce(by_sample, 2) if n > 1 else by_sample
    if isfinite(flat.dot(flat)):
        return parameters, set()
    finite = np.isfinite(folded).reshape(2, batch, n * groups).all((0, 2))
    return parameters, {case for case in range(batch) if not finite[case]}


def parts(g: Groups, added: range) -> tuple[Array, set[int]]:
    """What :func:`part` does, of whole cases, some samples of one, or some groups of a sample at a
    time.
    """
    batch, _, groups, d, space = g.shape
    rows = g.shape[:3]
    x, dy, gradient = (
        g.x.reshape(g.shape),
        g.dy.reshape(g.shape),
        None if g.gradient is None else g.gradient.reshape(g.shape),
    )
    mean, rstd, gamma = (
        g.mean.reshape(rows),
        g.rstd.reshape(rows),
        g.gamma.reshape(batch, groups, d),
    )
    parameters = np.zeros((2, batch, groups, d))
    lost: set[int] = set()
    for block in blocks(rows, max(1, ROOM // (d * space))):
        (first, last), (start, stop), (low, high) = block
        rows_of = cases, _, which = slice(first, last), slice(start, stop), slice(low, high)
        shape = last - first, stop - start, high - low, d, space
        some = Groups(
            shape,
            x[rows_of],
            dy[rows_of],
            None if gradient is None else gradient[rows_of],
            mean[rows_of],
            rstd[rows_of],
            gamma[cases, which],
        )
        sums, spoilt = part(some, range(max(added.start - first, 0), max(added.stop - first, 0)))
        parameters[:, cases, which] += sums.reshape(2, last - first, high - low, d)
        lost |= {first + case for case in spoilt}
    return parameters, lost


def combine(dy: Array, x: Array, out: Array, factor: Array, slope: Array, constant: Array) -> None:
    """Writes dy * factor + (constant - x * slope), by pieces if a group is larger than a block.

    dy, x and out are (rows, HxW), factor (rows,), slope and constant are of so many rows as a group
    has.
    """
    d, space = len(dy) // len(slope), dy.shape[1]
    a, b, c = factor[:, None], slope[:, None], constant[:, None]
    if d * space <= ROOM:
        part = x.reshape(len(b), d * space) * b
        part -= c
        np.multiply(dy, a, out)
        out -= part.reshape(out.shape)
        return
    for channels, span in blocks((d, space), ROOM):
        rows, place = slice(*channels), (slice(*channels), slice(*span))
        part = x[place] * b
        part -= c
        np.multiply(dy[place], a[rows], out[place])
        out[place] -= part


def repair(g: Groups, case: int, sign: int, parameters: Array) -> None:
    """Replaces the gradients of a case that holds Inf or NaN, term by term as in the definition."""
    n, groups, d, space = g.shape[1:]
    whole, rows, m = (n, groups, d, space), (n, groups, 1, 1), sign * d * space
    x, dy, mean, rstd = (
        g.x[case].reshape(whole),
        g.dy[case].reshape(whole),
        g.mean[case].reshape(rows),
        g.rstd[case].reshape(rows),
    )
    xhat = (x - mean) * rstd
    h = dy * g.gamma[case].reshape(groups, d, 1)
    slope = (h * xhat).sum((2, 3), keepdims=True) / m
    parameters[0, case] = (dy * xhat).sum((0, 3)).reshape(g.gamma.shape[1:])
    parameters[1, case] = dy.sum((0, 3)).reshape(g.gamma.shape[1:])
    if g.gradient is not None:
        g.gradient[case] = (rstd * (h - h.sum((2, 3), keepdims=True) / m - xhat * slope)).reshape(
            g.gradient.shape[1:]
        )
