"""Convolutions by their definition, for checks of their gradients: tap by tap, over a canvas that
holds the wide tensor and its padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from opgen.golden import Array


class Slid(NamedTuple):
    """How a window slides along an axis: extents of the wide and the narrow tensor, of the window,
    its stride and dilation, and the padding before the wide tensor.
    """

    wide: int
    narrow: int
    kernel: int
    stride: int
    dilation: int
    pad: int

    @property
    def canvas(self) -> int:
        """The extent of the wide tensor with its padding, as far as windows reach."""
        reach = (self.narrow - 1) * self.stride + (self.kernel - 1) * self.dilation + 1
        return max(self.pad + self.wide, reach)

    @property
    def inside(self) -> slice:
        """The wide tensor on the canvas."""
        return slice(self.pad, self.pad + self.wide)

    def tap(self, at: int) -> slice:
        """The elements of the canvas that one element of the windows meets."""
        first = at * self.dilation
        return slice(first, first + (self.narrow - 1) * self.stride + 1, self.stride)


def convolved(
    x: Array, weight: Array, groups: int, transposed: bool, axes: Sequence[Slid]
) -> Array:
    """The convolution (B, N, channels, ...) of x (B, N, channels, ...) and weight (B, groups *
    narrow channels, wide channels, *kernel): ``transposed``, x is the narrow tensor, else the wide
    one.
    """
    cases, samples = x.shape[:2]
    all_of_them = (slice(None),) * 4
    w = weight.reshape(cases, groups, -1, *weight.shape[2:])
    x = x.reshape(cases, samples, groups, -1, *x.shape[3:])
    channels = w.shape[3] if transposed else x.shape[3]
    canvas = np.zeros((cases, samples, groups, channels, *(axis.canvas for axis in axes)))
    inside = (*all_of_them, *(axis.inside for axis in axes))
    narrow = np.zeros((cases, samples, groups, w.shape[2], *(axis.narrow for axis in axes)))
    if not transposed:
        canvas[inside] = x
    for at in np.ndindex(*weight.shape[3:]):
        met = (*all_of_them, *(axis.tap(i) for axis, i in zip(axes, at, strict=True)))
        tap = w[(*all_of_them, *at)]
        if transposed:
            canvas[met] += np.einsum("bngc...,bgcw->bngw...", x, tap)
        else:
            narrow += np.einsum("bngw...,bgcw->bngc...", canvas[met], tap)
    result = canvas[inside] if transposed else narrow
    return result.reshape(cases, samples, -1, *result.shape[4:])
