"""Single elements of the gradients of a convolution, each from the few terms that it needs.

A convolution joins a wide tensor, over which windows slide, with a narrow one that has an element
per window (:mod:`opgen.golden.convolution_backward`). Positions on an axis belong together where
``wide = narrow * stride + tap * dilation - padding``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from opgen.golden import Array


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
    result = np.zeros(at.shape[1])
    for place, (channel, within, *taps) in enumerate(at.T.tolist()):
        mine, other = zip(
            *(axis.windows(tap) for axis, tap in zip(axes, taps, strict=True)), strict=True
        )
        one = narrow[(slice(None), channel, *mine)]
        two = wide[(slice(None), channel // per_group[0] * per_group[1] + within, *other)]
        result[place] = np.dot(one.reshape(-1), two.reshape(-1))
    return result


def of_wide(
    narrow: Array, weight: Array, axes: Sequence[SlidingAxis], groups: int, at: Array
) -> Array:
    """(P,) elements of the wide tensor's gradient, at ``at`` (2 + axes, P): the case, the channel,
    a position on each axis. The weight is (narrow channels, wide ones of a group, *kernel).
    """
    case, channel, *places = at
    group, within = np.divmod(channel, weight.shape[1])
    channels = _of_group(group, weight.shape[0] // groups)
    result = np.zeros(at.shape[1])
    for taps, others, there in _met(axes, places, SlidingAxis.narrow_of):
        mine = channels[there]
        terms = narrow[(case[there, None], mine, *(other[there, None] for other in others))]
        result[there] += np.einsum("pc,pc->p", terms, weight[(mine, within[there, None], *taps)])
    return result


def of_narrow(
    wide: Array, weight: Array, axes: Sequence[SlidingAxis], groups: int, at: Array
) -> Array:
    """(P,) the same of the narrow tensor's gradient, whose windows slide over the wide one."""
    case, channel, *places = at
    channels = _of_group(channel // (weight.shape[0] // groups), weight.shape[1])
    result = np.zeros(at.shape[1])
    for taps, others, there in _met(axes, places, SlidingAxis.wide_of):
        index = (case[there, None], channels[there], *(other[there, None] for other in others))
        factors = weight[(channel[there], slice(None), *taps)]
        result[there] += np.einsum("pc,pc->p", wide[index], factors)
    return result


def _of_group(group: Array, size: int) -> Array:
    """(P, size) the channels of a group for each place."""
    return np.asarray(group[:, None] * size + np.arange(size))


def _met(
    axes: Sequence[SlidingAxis], places: Sequence[Array], through: object
) -> Iterator[tuple[tuple[int, ...], list[Array], Array]]:
    """For each tap of the kernel, the positions that it joins with some places, and which of these
    meet one.
    """
    assert callable(through)
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
    rows = []
    for case in range(len(dy)):
        if output == "gradWeight":
            rows.append(of_weight(wide[case], narrow[case], axes, groups, at))
        elif transposed:
            rows.append(of_narrow(wide[case], w[case], axes, groups, at))
        else:
            rows.append(of_wide(narrow[case], w[case], axes, groups, at))
    return np.stack(rows)


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
        rows = [_weight_sums(*pair, axes, groups, signs) for pair in zip(wide, narrow, strict=True)]
    else:
        source, matrices = (wide, _onto_wide) if transposed else (narrow, _onto_narrow)
        rows = [
            _input_sums(one, factors, groups, transposed, signs, matrices(axes, signs[2:]))
            for one, factors in zip(source, w, strict=True)
        ]
    return np.stack(rows)


def _onto_narrow(axes: Sequence[SlidingAxis], signs: Sequence[Array]) -> list[Array]:
    """(draws, kernel, narrow) of each axis: the sign of the wide position that a tap joins with a
    narrow one, 0 where there is none.
    """
    result = []
    for axis, sign in zip(axes, signs, strict=True):
        matrix = np.zeros((len(sign), axis.kernel, axis.narrow))
        for tap in range(axis.kernel):
            mine, other = axis.windows(tap)
            matrix[:, tap, mine] = sign[:, other]
        result.append(matrix)
    return result


def _onto_wide(axes: Sequence[SlidingAxis], signs: Sequence[Array]) -> list[Array]:
    """(draws, kernel, wide) of each axis: the sign of the narrow position that a tap joins with a
    wide one.
    """
    result = []
    for axis, sign in zip(axes, signs, strict=True):
        matrix = np.zeros((len(sign), axis.kernel, axis.wide))
        for tap in range(axis.kernel):
            mine, other = axis.windows(tap)
            matrix[:, tap, other] = sign[:, mine]
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
    """(draws,) of one case: what each element of ``source`` (N, channels, *extents) is multiplied
    by in the whole sum is the same for all N.
    """
    split = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    total = np.zeros(len(signs[0]))
    flat = source.reshape(len(source), -1)
    for draw in range(len(total)):
        channel = signs[1][draw].reshape(groups, -1)
        subscripts = "gnw...,gn->gw..." if transposed else "gnw...,gw->gn..."
        factor = np.einsum(subscripts, split, channel)
        factor = factor.reshape(-1, *factor.shape[2:])
        for matrix in matrices:  # each turns the first of the kernel's axes into a last one
            factor = np.tensordot(factor, matrix[draw], axes=(1, 0))
        total[draw] = signs[0][draw] @ (flat @ factor.reshape(-1))
    return total


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
    moved = np.moveaxis(values, place, -1)
    result = np.zeros((*moved.shape[:-1], axis.narrow))
    for tap in range(axis.kernel):
        mine, other = axis.windows(tap)
        column = sign[:, tap].reshape(1, -1, *(1,) * (moved.ndim - 2))
        result[..., mine] += column * moved[..., other]
    return np.moveaxis(result, -1, place)
