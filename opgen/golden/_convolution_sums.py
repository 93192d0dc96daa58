"""Sums with signs over the gradients of a convolution, without these gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from opgen.golden import Array
from opgen.golden._convolution_samples import SlidingAxis

_ROOM = 1 << 19
"""Numbers that are made of some channels at a time."""


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
