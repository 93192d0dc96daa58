"""The forms that compute a convolution's gradients, and the geometry and the operands that they share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from opgen.golden import Array
from opgen.golden._axes import Windows
from opgen.golden._columns import Block, blocks, fill, filled, index_plan, pieces, taps, unfill

SMALL = 1 << 16  # elements of a case's columns and products up to which cases are stacked, and of a stack of them
COLUMNS = 1 << 19  # elements of a block of columns, 4 MiB; up to four times as many where it would be narrow
NARROW = 1024  # elements of input or gradOutput
WEIGHT = 5 << 17  # elements of a piece of the weight: 5 MiB


@dataclass(frozen=True, slots=True)
class Plan:
    """The geometry of a call: ``down`` slides over the wide tensor, ``up`` over gradOutput with a window per input."""

    transposed: bool
    groups: int
    down: tuple[Windows, ...]
    up: tuple[Windows, ...]


@lru_cache(maxsize=4096)
def plan_of(transposed: int, groups: int, axes: tuple[tuple[int, ...], ...]) -> Plan:
    """The plan of a call whose axes are (wide, narrow, kernel, stride, dilation, padding before)."""
    down = tuple(Windows(wide, narrow, kernel, stride, dilation, pad)
                 for wide, narrow, kernel, stride, dilation, pad in axes)
    up = down if transposed else tuple(
        Windows(w.number, w.extent, w.kernel, 1, -w.dilation, -w.pad) if w.stride == 1 else
        Windows(w.number, w.extent, w.kernel, -w.stride, w.dilation, w.pad) for w in down)
    return Plan(bool(transposed), groups, down, up)


@dataclass(slots=True)
class Operands:
    """A batch: dy and x (B, N, channels, ...) and w as it comes; by groups (B, N, G, C, ...), (B, N, G, M, ...), (B, G, M, C, *kernel).

    gx and gw are to be written, shaped like x and w; None if not wanted.
    """

    dy: Array
    x: Array
    w: Array
    gx: Array | None
    gw: Array | None


def nothing(t: Operands, plan: Plan) -> None:
    """Empty tensors: sums of no terms."""
    for array in (t.gx, t.gw):
        if array is not None:
            array[...] = 0.0


def stacked(t: Operands, plan: Plan) -> None:
    """Small convolutions, several cases at once, not by groups: columns of gradOutput by an index plan, batched products."""
    index = index_plan(plan.up)
    (batch, n, channels, *wide), (k, inputs), groups = t.dy.shape, index.shape, plan.groups
    c, m, extent, weights = channels // groups, t.x.shape[2] // groups, prod(wide), prod(t.w.shape[1:])
    dy, x = t.dy.reshape(batch, n, groups, c, extent), t.x.reshape(batch, n, groups, m, inputs)
    w, gw = t.w.reshape(batch, weights), None if t.gw is None else t.gw.reshape(batch, weights)
    aligned = plan.transposed or m == 1 or c == 1
    forth, back = (None, None) if aligned else (order(groups, c, m, k), order(groups, m, c, k))
    for cases in pieces(batch, SMALL // (n * groups * c * k * max(inputs, m))):
        b = cases.stop - cases.start
        padded = np.zeros((b, n, groups, c, extent + 1))
        padded[..., :-1] = dy[cases]
        columns = padded.take(index, axis=-1, mode="clip").reshape(b, n, groups, c * k, inputs)
        if t.gx is not None:
            by_input = w[cases] if forth is None else w[cases].take(forth, axis=1, mode="clip")
            out = t.gx[cases].reshape(b, n, groups, m, inputs)
            np.matmul(by_input.reshape(b, 1, groups, m, c * k), columns, out=out)
        if gw is not None:
            products = np.matmul(x[cases], columns.swapaxes(-1, -2))
            products = (np.add.reduce(products, axis=1) if n > 1 else products).reshape(b, weights)
            gw[cases] = products if back is None else products.take(back, axis=1, mode="clip")


@lru_cache(maxsize=256)
def order(groups: int, first: int, second: int, k: int) -> Array:
    """The flat indices that exchange the two axes of channels of a weight."""
    size = groups * first * second * k
    return np.ascontiguousarray(np.arange(size).reshape(groups, first, second, k).swapaxes(1, 2)).reshape(size)


def room(rows: int) -> int:
    """The elements per row of a block of columns."""
    return max(1, COLUMNS // rows, min(NARROW, 4 * COLUMNS // rows))


def from_phases(t: Operands, plan: Plan) -> None:
    """From columns of gradOutput, phase by phase: the input elements of one meet some of the taps, with stride 1."""
    if t.gw is not None and any(w.extent < w.stride for w in plan.down):
        t.gw[...] = 0.0  # of the taps that meet no phase
    for choice in product(*(tuple(w.phases()) for w in plan.down)):
        inputs: tuple[Any, ...] = tuple(indices for indices, _, _ in choice)
        kept: tuple[Any, ...] = tuple(taps_ for _, taps_, _ in choice)
        x, w, gx, gw = (None if array is None else array[(..., *at)]
                        for array, at in ((t.x, inputs), (t.w, kept), (t.gx, inputs), (t.gw, kept)))
        assert x is not None and w is not None
        if w.size:
            from_output(Operands(t.dy, x, w, gx, gw), Plan(False, plan.groups, (), tuple(up for _, _, up in choice)))
        elif gx is not None:
            gx[...] = 0.0


def from_output(t: Operands, plan: Plan) -> None:
    """From columns of gradOutput, a block of them at a time."""
    batch, _, groups, c = t.dy.shape[:4]
    m, inner, k = t.x.shape[3], t.x.shape[4:], prod(t.w.shape[4:])
    c_step = min(c, max(1, WEIGHT // k))
    m_step = min(m, max(1, WEIGHT // (k * c_step)))
    rows = max(c_step * k, 2 * m_step)
    g_step = min(groups, max(1, min(COLUMNS // 2 // (rows * prod(inner)), WEIGHT // (m_step * c_step * k))))
    cuts = blocks(inner, room(rows))
    for b in range(batch):
        for g in pieces(groups, g_step):
            for cc in pieces(c, c_step):
                for mm in pieces(m, m_step):
                    gather(t, plan, b, g, mm, cc, cuts)


def gather(t: Operands, plan: Plan, b: int, g: slice, mm: slice, cc: slice, cuts: tuple[Block, ...]) -> None:
    """The part of the gradients of some groups that some channels of gradOutput give to some channels of input."""
    w = t.w[b, g, mm, cc]
    (gs, m, c), kernel, k = w.shape[:3], w.shape[3:], prod(w.shape[3:])
    w = np.ascontiguousarray(w).reshape(gs, m, c * k)
    total = np.empty((gs, m, c * k))
    spare, fresh = (np.empty_like(total) if len(cuts) * t.dy.shape[1] > 1 else total), True
    same = all(u == Windows(u.extent, u.extent, 1, 1, u.dilation) for u in plan.up)
    columns, before = None, None
    for block in cuts:
        shape = tuple(stop - start for start, stop in block)
        at: tuple[Any, ...] = tuple(slice(*span) for span in block)
        size, now = prod(shape), None if same else (shape, filled(plan.up, block))
        if now != before:
            columns, before = np.zeros((gs, c, *kernel, *shape)), now
        for n in range(t.dy.shape[1]):
            if columns is None:
                flat = t.dy[(b, n, g, cc, *at)].reshape(gs, c, size)
            else:
                fill(columns, t.dy[b, n, g, cc], plan.up, block)
                flat = columns.reshape(gs, c * k, size)
            if t.gx is not None:
                multiply(w, flat, t.gx[(b, n, g, mm, *at)], cc.start > 0)
            if t.gw is not None:
                x = t.x[(b, n, g, mm, *at)].reshape(gs, m, size)
                np.matmul(x, flat.swapaxes(1, 2), out=total if fresh else spare)
                total, fresh = total if fresh else np.add(total, spare, out=total), False
    if t.gw is not None:
        t.gw[b, g, mm, cc] = total.reshape(gs, m, c, *kernel)


def multiply(left: Array, right: Array, target: Array, add: bool) -> None:
    """Writes left @ right into a target whose last axes are those of the product unflattened, or adds it."""
    if target[0, 0].flags.c_contiguous and not add:
        np.matmul(left, right, out=target.reshape(*target.shape[:2], prod(target.shape[2:])))
        return
    value = np.matmul(left, right).reshape(target.shape)
    if add:
        target += value
    else:
        target[...] = value


def from_input(t: Operands, plan: Plan) -> None:
    """From columns of input, a block of them at a time; those of gradInput are added back."""
    batch, _, groups, m = t.x.shape[:4]
    c, inner, k = t.dy.shape[3], t.dy.shape[4:], prod(t.w.shape[4:])
    m_step = min(m, max(1, WEIGHT // k))
    c_step = min(c, max(1, WEIGHT // (m_step * k)))
    rows = max(2 * m_step * k, c_step)
    g_step = min(groups, max(1, min(COLUMNS // (rows * prod(inner)), WEIGHT // (m_step * c_step * k))))
    cuts = blocks(inner, room(rows))
    if t.gx is not None:
        t.gx[...] = 0.0
    for b in range(batch):
        for g in pieces(groups, g_step):
            for mm in pieces(m, m_step):
                for cc in pieces(c, c_step):
                    scatter(t, plan, b, g, mm, cc, cuts)


def scatter(t: Operands, plan: Plan, b: int, g: slice, mm: slice, cc: slice, cuts: tuple[Block, ...]) -> None:
    """The part of the gradients of some groups between some channels of input and of gradOutput."""
    w = t.w[b, g, mm, cc].swapaxes(1, 2)
    kernel, (gs, c, m) = w.shape[3:], w.shape[:3]
    rows = m * prod(kernel)
    across = w.reshape(gs, c, rows).swapaxes(1, 2)
    total = np.empty((gs, c, rows))
    spare, fresh = (np.empty_like(total) if len(cuts) * t.dy.shape[1] > 1 else total), True
    columns, before = np.empty(0), None
    for block in cuts:
        shape = tuple(stop - start for start, stop in block)
        at: tuple[Any, ...] = tuple(slice(*span) for span in block)
        now = (shape, filled(plan.down, block))
        if now != before:
            columns, before = np.zeros((gs, m, *kernel, *shape)), now
        back = np.empty_like(columns)
        for n in range(t.dy.shape[1]):
            dy = t.dy[(b, n, g, cc, *at)].reshape(gs, c, prod(shape))
            if t.gw is not None:
                fill(columns, t.x[b, n, g, mm], plan.down, block)
                flat = columns.reshape(gs, rows, prod(shape))
                np.matmul(dy, flat.swapaxes(1, 2), out=total if fresh else spare)
                total, fresh = total if fresh else np.add(total, spare, out=total), False
            if t.gx is not None:
                np.matmul(across, dy, out=back.reshape(gs, rows, prod(shape)))
                unfill(t.gx[b, n, g, mm], back, plan.down, block)
    if t.gw is not None:
        t.gw[b, g, mm, cc] = total.reshape(gs, c, m, *kernel).swapaxes(1, 2)


def by_taps(t: Operands, plan: Plan) -> None:
    """Tap by tap and sample by sample, multiplying nothing but what the definition multiplies."""
    nothing(t, plan)
    narrow = t.x if plan.transposed else t.dy
    room = max(1, COLUMNS // (2 * (prod(t.x.shape[2:4]) + prod(t.dy.shape[2:4]))))
    for b, n in np.ndindex(*t.x.shape[:2]):
        for block in blocks(narrow.shape[4:], room):
            for index, outer, inner in taps(plan.down, block):
                at = tuple(slice(s + o.start, s + o.stop) for (s, _), o in zip(block, outer, strict=True))
                here, there = (b, n, slice(None), slice(None), *at), (b, n, slice(None), slice(None), *inner)
                tap(t, b, index, *((there, here) if plan.transposed else (here, there)))


def tap(t: Operands, b: int, index: tuple[Any, ...], upstream: tuple[Any, ...], source: tuple[Any, ...]) -> None:
    """Adds what one tap joins: elements of gradOutput and as many of input."""
    dy, x, w = t.dy[upstream], t.x[source], np.ascontiguousarray(t.w[(b, ..., *index)])
    shape, size = x.shape, prod(x.shape[2:])
    dy, x = dy.reshape(*dy.shape[:2], size), x.reshape(*x.shape[:2], size)
    if t.gx is not None:
        t.gx[source] += np.matmul(w, dy).reshape(shape)
    if t.gw is not None:
        t.gw[(b, ..., *index)] += np.matmul(x, dy.swapaxes(1, 2))
