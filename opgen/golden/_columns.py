"""Columns: what each tap of a sliding window meets, laid out for matrix products, in blocks of
bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from opgen.golden import Array
from opgen.golden._axes import Windows

Block: TypeAlias = tuple[tuple[int, int], ...]
"""The beginning and the end of a block on every axis."""
Index: TypeAlias = tuple[Any, ...]
"""Integers, slices and an ellipsis that take some elements of an array."""
Tap: TypeAlias = tuple[Index, Index, Index]
"""A kernel index, the windows of a block in which it lies on the tensor, and the elements that it
meets there."""
FAR = 1 << 20
"""An index after the end of every small tensor, also when it is multiplied by the extents of the
axes that follow."""


def pieces(total: int, size: int) -> Iterator[slice]:
    """Cuts a range into slices of at most ``size``.

    >>> list(pieces(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, total, max(1, size)):
        yield slice(start, min(start + max(1, size), total))


@lru_cache(maxsize=256)
def blocks(extents: tuple[int, ...], room: int) -> tuple[Block, ...]:
    """Cuts an array into contiguous blocks of at most ``room`` elements, alike in size: whole
    trailing axes, one cut, ones.

    >>> blocks((3, 4), 8)
    (((0, 2), (0, 4)), ((2, 3), (0, 4)))
    """
    sizes = []
    for extent in reversed(extents):
        size = max(1, min(extent, room))
        sizes.append(-(-extent // -(-extent // size)) if extent else 1)
        room = room // max(1, extent) if room >= extent else 1
    return tuple(
        product(
            *(
                [(s.start, s.stop) for s in pieces(extent, size)]
                for extent, size in zip(extents, reversed(sizes), strict=True)
            )
        )
    )


@lru_cache(maxsize=1024)
def taps(windows: tuple[Windows, ...], block: Block | None = None) -> tuple[Tap, ...]:
    """The taps that meet anything in a block of windows; window slices count from the block's
    beginning.
    """
    spans = block or tuple((0, w.number) for w in windows)
    axes = [
        [(r, *w.tap(r, *span)) for r in range(w.kernel)]
        for w, span in zip(windows, spans, strict=True)
    ]
    return tuple(
        (
            tuple(r for r, _, _ in choice),
            tuple(outer for _, outer, _ in choice),
            tuple(inner for _, _, inner in choice),
        )
        for choice in product(*axes)
        if all(outer.stop > outer.start for _, outer, _ in choice)
    )


class Scratch:
    """An array of any shape, in memory that is kept for the next."""

    def __init__(self, dtype: DTypeLike = np.float64) -> None:
        self.flat = np.empty(0, dtype)

    def shaped(self, *shape: int) -> Array:
        """The array, of whatever values."""
        size = prod(shape)
        if self.flat.size < size:
            self.flat = np.empty(size, self.flat.dtype)
        return self.flat[:size].reshape(shape)


class Columns:
    """Between tensors (groups, channels, *extents) and matrices (groups, channels * taps, windows)
    of a ``dtype``, block after block.

    Windows that meet their own index alone need no columns.
    """

    def __init__(self, windows: tuple[Windows, ...], dtype: DTypeLike = np.float64) -> None:
        self.windows, self.kernel, self.dtype = windows, tuple(w.kernel for w in windows), dtype
        self.plain = all(w == Windows(w.extent, w.extent, 1, 1, w.dilation) for w in windows)
        self.filled: object = None
        self.columns, self.product = Scratch(dtype), Scratch(dtype)

    def gather(self, source: Array, block: Block) -> Array:
        """What the taps meet, and zeros where they meet nothing."""
        groups, channels = source.shape[:2]
        if self.plain and source.dtype == self.dtype:
            return source[(..., *within(block))].reshape(groups, channels, volume(block))
        columns = self.columns.shaped(groups, channels, *self.kernel, *lengths(block))
        met = taps(self.windows, block)
        filled = columns.shape, [(index, outer) for index, outer, _ in met]
        if filled != self.filled:
            columns[...], self.filled = 0.0, filled
        for index, outer, inner in met:
            columns[(..., *index, *outer)] = source[(..., *inner)]
        return columns.reshape(groups, channels * prod(self.kernel), volume(block))

    def place(self, target: Array, block: Block, add: bool, tall: bool = False) -> Array:
        """Where to write a matrix that :meth:`scatter` takes: the tensor itself where it is
        contiguous and of this dtype, else an array; ``tall``: one whose columns are contiguous.
        """
        groups, channels = target.shape[:2]
        shape = groups, channels * prod(self.kernel), volume(block)
        if tall:
            return self.product.shaped(groups, shape[2], shape[1]).swapaxes(1, 2)
        same = self.plain and target.dtype == self.dtype
        part = target[(..., *within(block))] if same and not add else None
        return (
            part.reshape(shape)
            if part is not None and part[0, 0].flags.c_contiguous
            else self.product.shaped(*shape)
        )

    def scatter(self, matrix: Array, target: Array, block: Block, add: bool) -> None:
        """Writes a matrix to the tensor, or adds it; what several taps meet must be added."""
        if np.may_share_memory(matrix, target):
            return
        matrix = matrix.reshape(*target.shape[:2], *self.kernel, *lengths(block))
        for index, outer, inner in taps(self.windows, block):
            if add:
                target[(..., *inner)] += matrix[(..., *index, *outer)]
            else:
                target[(..., *inner)] = matrix[(..., *index, *outer)]


def lengths(block: Block) -> tuple[int, ...]:
    """The extents of a block."""
    return tuple([stop - start for start, stop in block])


def volume(block: Block) -> int:
    """The elements of a block."""
    return prod(lengths(block))


def within(block: Block) -> Index:
    """The slices that cut a block out."""
    return tuple([slice(start, stop) for start, stop in block])


@lru_cache(maxsize=128)
def window_index(windows: tuple[Windows, ...]) -> Array:
    """Where the taps find their elements, (taps, windows) flat; what lies off the tensor is found
    far after its end.
    """
    flat = axis_index(windows[0])
    for w in windows[1:]:
        inner, (kernel, number) = axis_index(w), flat.shape
        flat = (flat[:, None, :, None] * w.extent + inner[:, None, :]).reshape(
            kernel * w.kernel, number * w.number
        )
    return flat


@lru_cache(maxsize=1024)
def axis_index(w: Windows) -> Array:
    """Where the taps of windows find their elements on one axis, (taps, windows); what lies off it
    is found at ``FAR``.

    Windows of stride 1/s, written as a negative stride -s, meet ``(o - r*dilation + pad) / s``
    where that is whole.
    """
    r, o = np.arange(w.kernel)[:, None], np.arange(w.number)
    index, rest = (
        (o * w.stride + r * w.dilation - w.pad, 0)
        if w.stride > 0
        else np.divmod(o - r * w.dilation + w.pad, -w.stride)
    )
    return np.where((rest == 0) & (index >= 0) & (index < w.extent), index, FAR)
