"""Single elements of the gradients of a convolution, each from the few terms that it needs.

A convolution joins a wide tensor, over which windows slide, with a narrow one that has an element
per window (:mod:`opgen.golden.convolution_backward`). Positions on an axis belong together where
``wide = narrow * stride + tap * dilation - padding``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._convolution import PADDING


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


def call_of(
    tensors: Tensors, names: Mapping[str, int]
) -> tuple[dict[str, Array], bool, int, list[SlidingAxis]]:
    """The tensors that are there, transposed or not, the groups, and the axes over which windows
    slide.
    """
    known = {name: array for name, array in tensors.items() if array is not None}
    dy, x, w = (known[name].shape[3:] for name in ("gradOutput", "input", "weight"))
    wide, narrow = (dy, x) if names["transposed"] else (x, dy)
    axes = [
        SlidingAxis(*sizes, names[f"s{a}"], names[f"d{a}"], names[PADDING[a]])
        for sizes, a in zip(zip(wide, narrow, w, strict=True), "DHW"[3 - len(x) :], strict=True)
    ]
    return known, bool(names["transposed"]), names["groups"], axes


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
