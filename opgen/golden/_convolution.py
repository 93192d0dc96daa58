"""The forms that compute the gradients of small and of non-finite convolutions, and what is shared
with that of large ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from opgen.golden import Array
from opgen.golden._absolute import Copies, copied
from opgen.golden._axes import Windows
from opgen.golden._columns import Index, blocks, pieces, taps, window_index

SMALL = (
    1 << 16
)  # elements of a case's columns and products up to which cases are stacked, and of a stack of them
PADDING = {"D": "padFront", "H": "padTop", "W": "padLeft"}
COLUMNS = 1 << 19  # elements of what taps meet at a time: 4 MiB


@dataclass(frozen=True, slots=True)
class ConvolutionGeometry:
    """The geometry of a call: ``down`` slides over the wide tensor, ``up`` over gradOutput with a
    window per input.
    """

    transposed: bool
    groups: int
    down: tuple[Windows, ...]
    up: tuple[Windows, ...]


@lru_cache(maxsize=4096)
def geometry_of(
    transposed: int, groups: int, axes: tuple[tuple[int, ...], ...]
) -> ConvolutionGeometry:
    """The geometry of a call whose axes are (wide, narrow, kernel, stride, dilation, padding
    before).
    """
    down = tuple(
        Windows(wide, narrow, kernel, stride, dilation, pad)
        for wide, narrow, kernel, stride, dilation, pad in axes
    )
    up = (
        down
        if transposed
        else tuple(
            (
                Windows(w.number, w.extent, w.kernel, 1, -w.dilation, -w.pad)
                if w.stride == 1
                else Windows(w.number, w.extent, w.kernel, -w.stride, w.dilation, w.pad)
            )
            for w in down
        )
    )
    return ConvolutionGeometry(bool(transposed), groups, down, up)


def geometry_of_call(
    names: Mapping[str, int],
    upstream: tuple[int, ...],
    source: tuple[int, ...],
    weight: tuple[int, ...],
) -> ConvolutionGeometry:
    """The geometry of a call, from the shapes of one case."""
    wide, narrow = (upstream, source) if names["transposed"] else (source, upstream)
    letters = "DHW"[5 - len(wide) :]
    return geometry_of(
        names["transposed"],
        names["groups"],
        tuple(
            [
                (
                    wide[i + 2],
                    narrow[i + 2],
                    weight[i + 2],
                    names["s" + a],
                    names["d" + a],
                    names[PADDING[a]],
                )
                for i, a in enumerate(letters)
            ]
        ),
    )


@dataclass(slots=True)
class Operands:
    """A batch: dy and x (B, N, channels, ...) and w as it comes; by groups (B, N, G, C, ...), (B,
    N, G, M, ...), (B, G, M, C, *kernel).

    gx and gw are to be written, shaped like x and w; None if not wanted.
    """

    dy: Array
    x: Array
    w: Array
    gx: Array | None
    gw: Array | None


def by_groups(t: Operands, groups: int, transposed: bool) -> Operands:
    """Splits the channels of all tensors by groups; the weight's axes become (groups, of input, of
    gradOutput).
    """

    def channels(array: Array) -> Array:
        batch, n, c, *rest = array.shape
        return array.reshape(batch, n, groups, c // groups, *rest)

    def weights(array: Array) -> Array:
        batch, c, *rest = array.shape
        split = array.reshape(batch, groups, c // groups, *rest)
        return split if transposed else split.swapaxes(2, 3)

    return Operands(
        channels(t.dy),
        channels(t.x),
        weights(t.w),
        None if t.gx is None else channels(t.gx),
        None if t.gw is None else weights(t.gw),
    )


def nothing(t: Operands, geometry: ConvolutionGeometry) -> None:
    """Empty tensors: sums of no terms."""
    for array in (t.gx, t.gw):
        if array is not None:
            array[...] = 0.0


def stacked(t: Operands, geometry: ConvolutionGeometry, copies: Copies) -> None:
    """Small convolutions, several cases at once, not by groups: columns of gradOutput by an index
    geometry, batched products.

    dy, x and w have B cases, gx and gw all copies of them.
    """
    index = window_index(geometry.up)
    (batch, n, channels, *wide), (k, inputs), groups, times = (
        t.dy.shape,
        index.shape,
        geometry.groups,
        copies.number,
    )
    c, m, extent, weights = (
        channels // groups,
        t.x.shape[2] // groups,
        prod(wide),
        prod(t.w.shape[1:]),
    )
    aligned = geometry.transposed or m == 1 or c == 1
    forth, back = (None, None) if aligned else (order(groups, c, m, k), order(groups, m, c, k))
    w = t.w.reshape(batch, weights)
    for cases in pieces(batch, SMALL // (times * n * groups * c * k * max(inputs, m))):
        b = cases.stop - cases.start
        padded = np.zeros((b, n, groups, c, extent + 1))
        padded[..., :-1] = t.dy[cases].reshape(b, n, groups, c, extent)
        columns = np.empty((times, b, n, groups, c * k, inputs))
        padded.take(index, axis=-1, out=columns[0].reshape(b, n, groups, c, k, inputs), mode="clip")
        if copies.absolute:
            np.abs(columns[0], columns[-1])
        if t.gx is not None:
            by_input = w[cases] if forth is None else w[cases].take(forth, axis=1, mode="clip")
            out = t.gx.reshape(times, batch, n, groups, m, inputs)[:, cases]
            np.matmul(copied(by_input.reshape(b, 1, groups, m, c * k), copies), columns, out=out)
        if t.gw is not None:
            x = t.x[cases].reshape(b, n, groups, m, inputs)
            products = np.matmul(copied(x, copies), columns.swapaxes(-1, -2))
            products = (np.add.reduce(products, axis=2) if n > 1 else products).reshape(
                times, b, weights
            )
            t.gw.reshape(times, batch, weights)[:, cases] = (
                products if back is None else products.take(back, axis=2, mode="clip")
            )


@lru_cache(maxsize=256)
def order(groups: int, first: int, second: int, k: int) -> Array:
    """The flat indices that exchange the two axes of channels of a weight."""
    return (
        np.arange(groups * first * second * k)
        .reshape(groups, first, second, k)
        .swapaxes(1, 2)
        .reshape(-1)
    )


def by_taps(t: Operands, geometry: ConvolutionGeometry) -> None:
    """Tap by tap and sample by sample, multiplying nothing but what the definition multiplies."""
    nothing(t, geometry)
    narrow = t.x if geometry.transposed else t.dy
    room = max(1, COLUMNS // (2 * (prod(t.x.shape[2:4]) + prod(t.dy.shape[2:4]))))
    for b, n in np.ndindex(*t.x.shape[:2]):
        for block in blocks(narrow.shape[4:], room):
            for index, outer, inner in taps(geometry.down, block):
                positions = [
                    slice(s + o.start, s + o.stop) for (s, _), o in zip(block, outer, strict=True)
                ]
                channels = b, n, slice(None), slice(None)
                here, there = (*channels, *positions), (*channels, *inner)
                tap(t, b, index, *((there, here) if geometry.transposed else (here, there)))


def tap(t: Operands, b: int, index: Index, upstream: Index, source: Index) -> None:
    """Adds what one tap joins: elements of gradOutput and as many of input."""
    dy, x, w = t.dy[upstream], t.x[source], np.ascontiguousarray(t.w[(b, ..., *index)])
    shape, size = x.shape, prod(x.shape[2:])
    dy, x = dy.reshape(*dy.shape[:2], size), x.reshape(*x.shape[:2], size)
    if t.gx is not None:
        t.gx[source] += np.matmul(w, dy).reshape(shape)
    if t.gw is not None:
        t.gw[(b, ..., *index)] += np.matmul(x, dy.swapaxes(1, 2))
