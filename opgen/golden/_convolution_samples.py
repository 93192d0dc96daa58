"""Single elements of the gradients of a convolution, each from the few terms that it needs.

A convolution joins a wide tensor, over which windows slide, with a narrow one that has an element
per window (:mod:`opgen.golden.convolution_backward`). Positions on an axis belong together where
``wide = narrow * stride + tap * dilation - padding``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from opgen.golden import Array

_ROOM = 1 << 19
"""Numbers that are made of some channels at a time."""


@dataclass(frozen=True)
class SlidingAxis:
    """One spatial axis: extents of the wide and of the narrow tensor and of the kernel, stride,
    dilation, padding in front.
    """

    wide: int
    narrow: int
    kernel: int
    stride: int
    dilation: int
    pad: int

    def windows(self, tap: int) -> tuple[slice, slice]:
        """The positions of the narrow and of the wide tensor that a tap joins."""
        ahead = tap * self.dilation - self.pad
        first = max(0, -(ahead // self.stride))
        last = min(self.narrow - 1, (self.wide - 1 - ahead) // self.stride)
        count = max(0, last - first + 1)
        start = first * self.stride + ahead if count else 0
        stop = start + (count - 1) * self.stride + 1 if count else 0
        return slice(first, first + count), slice(start, stop, self.stride)

    def narrow_of(self, wide: Array, tap: int) -> tuple[Array, Array]:
        """The narrow positions that a tap joins with wide ones, and which there are."""
        position, rest = np.divmod(wide + self.pad - tap * self.dilation, self.stride)
        return position, (rest == 0) & (position >= 0) & (position < self.narrow)

    def wide_of(self, narrow: Array, tap: int) -> tuple[Array, Array]:
        """The wide positions that a tap joins with narrow ones, and which there are."""
        position = narrow * self.stride + tap * self.dilation - self.pad
        return position, (position >= 0) & (position < self.wide)


def of_weight(
    wide: Array, narrow: Array, axes: Sequence[SlidingAxis], groups: int, at: Array
) -> Array:
    """(P,) elements of the weight's gradient, at ``at`` (2 + axes, P): the narrow channel, the wide
    one within its group, a tap of each axis. Tensors are (N, channels, *extents).
    """
    per_group = narrow.shape[1] // groups, wide.shape[1] // groups
    joined = [[axis.windows(tap) for tap in range(axis.kernel)] for axis in axes]
    result, every = np.zeros(at.shape[1]), list(range(narrow.ndim - 1))
    for place, (channel, within, *taps) in enumerate(at.T.tolist()):
        mine, other = zip(*map(list.__getitem__, joined, taps), strict=True)
        one = narrow[(slice(None), channel, *mine)]
        two = wide[(slice(None), channel // per_group[0] * per_group[1] + within, *other)]
        result[place] = np.einsum(one, every, two, every, [])  # which copies neither
    return result


def of_input(
    source: Array,
    weight: Array,
    axes: Sequence[SlidingAxis],
    groups: int,
    at: Array,
    wide: bool,
) -> Array:
    """(P,) elements of the gradient of the wide tensor, or else of the narrow one, at ``at`` (2 +
    axes, P): the case, the channel, a position on each axis. ``source`` is the other tensor; the
    weight is (narrow channels, wide ones of a group, *kernel).
    """
    case, channel, *places = at
    group, own = np.divmod(channel, weight.shape[1] if wide else weight.shape[0] // groups)
    channels = _of_group(group, source.shape[1] // groups)
    through = SlidingAxis.narrow_of if wide else SlidingAxis.wide_of
    result = np.zeros(at.shape[1])
    for taps, others, there in _met(axes, places, through):
        mine = channels[there]
        terms = source[(case[there, None], mine, *(other[there, None] for other in others))]
        row = (mine, own[there, None]) if wide else (channel[there], slice(None))
        result[there] += np.einsum("pc,pc->p", terms, weight[(*row, *taps)])
    return result


def _of_group(group: Array, size: int) -> Array:
    """(P, size) the channels of a group for each place."""
    return np.asarray(group[:, None] * size + np.arange(size))


def _met(
    axes: Sequence[SlidingAxis],
    places: Sequence[Array],
    through: Callable[[SlidingAxis, Array, int], tuple[Array, Array]],
) -> Iterator[tuple[tuple[int, ...], list[Array], Array]]:
    """For each tap of the kernel, the positions that it joins with some places, and which of these
    meet one.
    """
    for taps in product(*(range(axis.kernel) for axis in axes)):
        met = [through(axis, at, tap) for axis, at, tap in zip(axes, places, taps, strict=True)]
        there = np.flatnonzero(np.logical_and.reduce([known for _, known in met]))
        if len(there):
            yield taps, [position for position, _ in met], there


def elements(
    tensors: Mapping[str, Array],
    transposed: bool,
    groups: int,
    axes: Sequence[SlidingAxis],
    output: str,
    places: Array,
) -> Array:
    """(B, P) elements of gradInput or gradWeight at flat ``places``, of stacked tensors."""
    dy, x, w = (tensors[name] for name in ("gradOutput", "input", "weight"))
    wide, narrow = (dy, x) if transposed else (x, dy)
    shape = (w if output == "gradWeight" else x).shape[1:]
    at = np.stack(np.unravel_index(places, shape))
    return np.stack(
        [
            of_weight(wide[case], narrow[case], axes, groups, at)
            if output == "gradWeight"
            else of_input(dy[case], w[case], axes, groups, at, not transposed)
            for case in range(len(dy))
        ]
    )


# sums with signs ----------------------------------------------------------------------------------
def sums(
    tensors: Mapping[str, Array],
    transposed: bool,
    groups: int,
    axes: Sequence[SlidingAxis],
    output: str,
    signs: Sequence[Array],
) -> Array:
    """(B, draws) sums over gradInput or gradWeight, whose elements are multiplied by a sign per
    axis, ``signs`` (draws, extent): tensors are summed over channels with signs before they are
    multiplied, so that a sum takes about as long as to read them.
    """
    dy, x, w = (tensors[name] for name in ("gradOutput", "input", "weight"))
    wide, narrow = (dy, x) if transposed else (x, dy)
    if output == "gradWeight":
        pairs = zip(wide, narrow, strict=True)
        return np.stack([_weight_sums(*pair, axes, groups, signs) for pair in pairs])
    matrices = _onto_kernel_of(axes, signs[2:], transposed)
    return np.stack(
        [
            _input_sums(one, factors, groups, transposed, signs, matrices)
            for one, factors in zip(dy, w, strict=True)
        ]
    )


def _onto_kernel_of(axes: Sequence[SlidingAxis], signs: Sequence[Array], wide: bool) -> list[Array]:
    """(draws, kernel, extent) of each axis: the sign of the position that a tap joins with one of
    the wide tensor, or else of the narrow one; 0 where there is none.
    """
    result = []
    for axis, sign in zip(axes, signs, strict=True):
        matrix = np.zeros((len(sign), axis.kernel, axis.wide if wide else axis.narrow))
        for tap in range(axis.kernel):
            narrow, other = axis.windows(tap)
            mine, joined = (other, narrow) if wide else (narrow, other)
            matrix[:, tap, mine] = sign[:, joined]
        result.append(matrix)
    return result


def _input_sums(
    source: Array,
    weight: Array,
    groups: int,
    transposed: bool,
    signs: Sequence[Array],
    matrices: Sequence[Array],
) -> Array:
    """(draws,) of one case: the weight is summed over the output's channels, ``source`` (N,
    channels, *extents) over its positions, a few channels at a time; then they are multiplied.
    """
    draws, kernel = len(signs[0]), weight.shape[2:]
    split = weight.reshape(groups, weight.shape[0] // groups, weight.shape[1], prod(kernel))
    if transposed:
        split = split.swapaxes(1, 2)
    channel = signs[1].reshape(draws, groups, -1).swapaxes(0, 1)
    factor = np.matmul(channel, split.swapaxes(1, 2).reshape(groups, channel.shape[2], -1))
    factor = factor.swapaxes(0, 1).reshape(draws, -1, prod(kernel))
    per_channel = draws * kernel[-1] * prod(source.shape[2:-1])
    step = max(1, _ROOM // per_channel)
    total = np.zeros(draws)
    for sign, sample in zip(signs[0].T, source, strict=True):
        for start in range(0, len(sample), step):
            some = slice(start, start + step)
            moved = _onto_kernel(sample[some], matrices).reshape(draws, -1)
            total += sign * np.einsum("dk,dk->d", moved, factor[:, some].reshape(draws, -1))
    return total


def _onto_kernel(values: Array, matrices: Sequence[Array]) -> Array:
    """(draws, channels, *kernel) of (channels, *extents): each axis is multiplied by a matrix
    (kernel, extent) of the draw.
    """
    *outer, last = matrices
    draws, taps, extent = last.shape
    moved = values.reshape(-1, extent) @ last.reshape(-1, extent).T
    moved = np.moveaxis(moved.reshape(-1, draws, taps), 1, 0)
    for matrix in reversed(outer):
        extent = matrix.shape[2]
        moved = moved.reshape(draws, -1, extent, taps)
        moved = np.matmul(matrix[:, None], moved)
        taps *= matrix.shape[1]
    return moved


def _weight_sums(
    wide: Array, narrow: Array, axes: Sequence[SlidingAxis], groups: int, signs: Sequence[Array]
) -> Array:
    """(draws,) of one case: sums over channels, then over taps, then products."""
    mine, within, *taps = signs
    draws = len(mine)
    total = np.zeros(draws)
    per_group = mine.reshape(draws, groups, -1)
    for one, other in zip(narrow, wide, strict=True):
        left = np.matmul(
            per_group.swapaxes(0, 1), one.reshape(groups, per_group.shape[2], -1)
        )  # (groups, draws, positions)
        right = np.matmul(within, other.reshape(groups, within.shape[1], -1))
        right = right.reshape(groups, draws, *(axis.wide for axis in axes))
        for place, (axis, sign) in enumerate(zip(axes, taps, strict=True), 2):
            right = _slid(right, place, axis, sign)
        total += np.einsum("gdp,gdp->d", left, right.reshape(left.shape))
    return total


def _slid(values: Array, place: int, axis: SlidingAxis, sign: Array) -> Array:
    """Sums over the taps of an axis, each with its sign: from the wide extent to the narrow one."""
    result = np.zeros((*values.shape[:place], axis.narrow, *values.shape[place + 1 :]))
    before = (slice(None),) * place
    for tap in range(axis.kernel):
        mine, other = axis.windows(tap)
        column = sign[:, tap].reshape(-1, *(1,) * (values.ndim - 2))
        result[(*before, mine)] += column * values[(*before, other)]
    return result
