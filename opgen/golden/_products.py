"""Large convolutions: two matrix products of columns give both gradients; or those of tiles, where
that is exact.

A product joins columns of gradOutput with columns of input, position by position. On each axis, the
positions are the elements of one of the two tensors and the taps meet elements of the other, whose
columns have a row per channel and tap: gradWeight is the product of both columns, gradInput the
product of the weight with those of gradOutput, added back where the columns of input were read.
With all taps on one side, its columns are large and the other side's products thin; with the first
axes' taps at input and the last's at gradOutput both are small. Where the positions are those of
the tensor over which windows slide with a stride, they are taken by phases of it.
"""

from __future__ import annotations

from itertools import product
from math import isfinite, prod

import numpy as np
from numpy.typing import DTypeLike

from opgen.golden import Array
from opgen.golden._columns import Block, Columns, Index, blocks, pieces
from opgen.golden._convolution import ConvolutionGeometry, Operands, by_taps
from opgen.golden._exactness import SINGLE, modest, room
from opgen.golden._phases import Polyphase, best_split, natural, phases
from opgen.golden._tiles import choices, growth
from opgen.golden._winograd import tiled

COLUMNS = (
    1 << 22
)  # elements of a block of columns, 32 MiB; up to twice as many where it would be narrow
SHORT = 1 << 20  # the same where a piece of the weight is not fat
CACHED = 1 << 18  # the same where channels can be cut, or copies take longer than products
THIN, FAT = 1 << 9, 1 << 17
"""Elements of a weight up to which channels are cut, and of a piece of it from which on blocks of
positions are longer, since each adds a product of that size: ``python -m tests.bench models
upconv`` takes 5 to 10 % less time than without."""
LITTLE = 1 << 14  # elements of a weight up to which a copy of its gradient takes no time
NARROW = 1024  # positions
WEIGHT = 5 << 19  # elements of a piece of the weight: 20 MiB
TALL = 2  # times as many rows as positions: a BLAS is quicker at the transposed product


def large(t: Operands, geometry: ConvolutionGeometry) -> None:
    """With tiles where they are quicker and exact although sums are larger, else from columns, or
    tap by tap where their zeros may have met Inf or NaN. In float32 where that is exact, which
    takes half the time.

    In gradInput they meet the weight; in gradWeight the other two. What is Inf or NaN remains in
    sums, so that either side tells: the smaller is looked at.
    """
    single, tilings = modest(t), choices(geometry, t.dy.shape[1], t.dy.shape[3], t.x.shape[3])
    most = room(t) if tilings or single else 0.0
    dtype, scale = (np.float32, SINGLE) if single and most >= SINGLE else (np.float64, 1.0)
    parts = next((some for some in tilings if growth(some) * scale <= most), None)
    if parts:
        tiled(t, geometry, parts, dtype=dtype)
        return
    from_columns(t, geometry, dtype=dtype)
    known = [] if t.gx is None else [min(t.w, t.gx, key=np.size)]
    known += [] if t.gw is None else [t.gw] if t.gw.size < t.dy.size + t.x.size else [t.dy, t.x]
    if not isfinite(sum([array.sum() for array in known])):
        by_taps(t, geometry)


def from_columns(
    t: Operands,
    geometry: ConvolutionGeometry,
    split: int | None = None,
    *,
    dtype: DTypeLike = np.float64,
    columns: int = COLUMNS,
    narrow: int = NARROW,
    weight: int = WEIGHT,
) -> None:
    """Both gradients, by pieces of the weight and blocks of positions, multiplied in a ``dtype``;
    with the best ``split`` where none is given.
    """
    groups, c = t.dy.shape[2:4]
    m, k = t.x.shape[3], prod(t.w.shape[4:])
    split = best_split(geometry, c, m) if split is None else split
    short = min(columns, CACHED if k > 1 and c * m * k <= THIN else SHORT)
    some = phases(geometry, split)
    sides = [(phase, Columns(phase.over_dy, dtype), Columns(phase.over_x, dtype)) for phase in some]
    add = (geometry.transposed and len(some) > 1) or any(
        w.overlap > 1 for phase in some for w in phase.over_x
    )
    if t.gx is not None and (
        add
        or sum([prod(phase.positions) for phase, _, xs in sides if xs.plain]) < prod(t.x.shape[4:])
    ):
        t.gx[...] = 0.0
    if t.gw is not None and any(w.extent < w.stride for w in geometry.down):
        t.gw[...] = 0.0  # of the taps that meet no phase
    if not some:
        return
    positions = tuple(
        [max(extents) for extents in zip(*[phase.positions for phase in some], strict=True)]
    )
    c_step = min(c, max(1, weight // k))
    parts = (  # gradOutput can be read several times where it needs no columns
        min(m * k // (2 * c), round(m * k * min(prod(positions), narrow) / CACHED))
        if k > 1 and all(dys.plain for _, dys, _ in sides)
        else 1
    )
    m_step = min(m, max(1, weight // (k * c_step)), -(-m // max(1, parts)))
    rows = sum([right + 2 * left for right, left in [phase.rows(c_step, m_step) for phase in some]])
    g_step = min(
        groups, max(1, min(short // (rows * prod(positions)), weight // (m_step * c_step * k)))
    )
    most = (columns if c_step * m_step * k >= FAT else short) // rows
    cuts = blocks(positions, max(1, most, min(narrow, 2 * most)))
    for b, g, cc, mm in product(
        range(len(t.w)), pieces(groups, g_step), [*pieces(c, c_step)], [*pieces(m, m_step)]
    ):
        piece(
            t,
            split,
            sides,
            (b, g, mm, cc),
            cuts,
            split == natural(geometry),
            add or cc.start > 0,
            dtype,
        )


def piece(
    t: Operands,
    split: int,
    sides: list[tuple[Polyphase, Columns, Columns]],
    where: Index,
    cuts: tuple[Block, ...],
    ordered: bool,
    add: bool,
    dtype: DTypeLike,
) -> None:
    """What some channels of gradOutput give to the gradients of some channels of input;
    ``ordered``: the products have that of the weight in the order of memory, so that it is added up
    where it lies unless it is small; ``add``: that of input is added to.
    """
    b, g, mm, cc = where
    direct = ordered and (t.w[where].size > LITTLE or prod(t.w.shape[4:]) == 1)
    weights = [
        matrices(by_sides(t.w[(*where, *phase.taps)].astype(dtype, copy=False), split), split)
        for phase, _, _ in sides
    ]
    gw = None if t.gw is None else by_sides(t.gw[where], split)
    turned = gw is not None and direct == ordered and gw.strides[1] < gw.strides[2 + split]
    sums = [Sum(turned, matrices(gw, split) if direct and gw is not None else None) for _ in sides]
    for block in cuts:
        for n in range(t.dy.shape[1]):
            products = []
            for (phase, dys, xs), w, total in zip(sides, weights, sums, strict=True):
                part = tuple(
                    [
                        (start, min(stop, end))
                        for (start, stop), end in zip(block, phase.positions, strict=True)
                    ]
                )
                right = dys.gather(t.dy[(b, n, g, cc, *phase.dy)], part)
                source: Index = (b, n, g, mm, *phase.x)
                if t.gw is not None:
                    total.add(xs.gather(t.x[source], part), right)
                if t.gx is not None:
                    gx = t.gx[source]
                    place = xs.place(
                        gx, part, add, min(w.shape[1] // TALL, w.shape[2]) > right.shape[2]
                    )
                    products.append((xs, np.matmul(w, right, out=place), gx, part))
            for (
                xs,
                product_,
                gx,
                part,
            ) in products:  # at once, since those of several phases lie side by side
                xs.scatter(product_, gx, part, add)
    if t.gw is not None and not direct:
        for (phase, _, _), total in zip(sides, sums, strict=True):
            gw = by_sides(t.gw[(*where, *phase.taps)], split)
            gw[...] = total.whole.reshape(gw.shape)


def by_sides(weight: Array, split: int) -> Array:
    """(groups, channels of input, of gradOutput, *taps) to (groups, channels of input, *its taps,
    of gradOutput, *its).
    """
    return np.moveaxis(weight, 2, 2 + split)


def matrices(weight: Array, split: int) -> Array:
    """The same as (groups, rows at input, rows at gradOutput)."""
    left = prod(weight.shape[1 : 2 + split])
    return weight.reshape(len(weight), left, prod(weight.shape[2 + split :]))


class Sum:
    """A sum of products of rows with rows, (groups, left, right), made in ``place`` if there is
    one; ``turned``: as right by left.
    """

    def __init__(self, turned: bool, place: Array | None = None) -> None:
        self.turned, self.begun = turned, False
        self.value = self.spare = np.empty(0)
        if place is not None:
            self.value = place.swapaxes(1, 2) if turned else place

    def add(self, left: Array, right: Array) -> None:
        first, second = (right, left) if self.turned else (left, right)
        if not self.begun:
            out = self.value if self.value.size else None
            self.value = np.matmul(first, second.swapaxes(1, 2), out=out)
            self.begun = True
            return
        if not self.spare.size:
            self.spare = np.empty_like(self.value)
        self.value += np.matmul(first, second.swapaxes(1, 2), out=self.spare)

    @property
    def whole(self) -> Array:
        return self.value.swapaxes(1, 2) if self.turned else self.value
