"""One axis at a time: sliding windows, pooled extents and reflections, shared by the kernels.

Everything spatial that the kernels do is separable, so a kernel of another rank needs these functions and a loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows that slide along one axis: window ``o`` meets index ``o*stride + r*dilation - pad`` with its tap ``r``.

    ``count`` windows of ``kernel`` taps over an axis of ``extent`` elements, ``pad`` elements before its first.
    """

    extent: int
    count: int
    kernel: int
    stride: int = 1
    dilation: int = 1
    pad: int = 0

    def tap(self, r: int, begin: int = 0, end: int | None = None) -> tuple[slice, slice]:
        """Where tap ``r`` of some windows lies on the axis: the windows, counted from ``begin``, and what they meet."""
        end = self.count if end is None else end
        first = r * self.dilation - self.pad
        low = max(begin, -(first // self.stride))
        high = min(end - 1, (self.extent - 1 - first) // self.stride)
        if high < low:
            return slice(0, 0), slice(0, 0)
        start = low * self.stride + first
        return slice(low - begin, high + 1 - begin), slice(start, start + (high - low) * self.stride + 1, self.stride)

    @property
    def overlap(self) -> int:
        """The largest number of windows that can meet in one index."""
        return min(self.count, -(-self.kernel // (self.stride // gcd(self.stride, self.dilation))))


@lru_cache(maxsize=4096)
def window_sizes(extent: int, count: int, kernel: int, stride: int, pad: int) -> tuple[Array, Array]:
    """The elements that each pooling window covers, padding included and without it: two (count,) float64 arrays.

    The padding behind the axis ends a window, also where the ceiling of the output size lets it hang over. A window
    that meets nothing counts 1, so that it can be divided by.
    """
    start = np.arange(count) * stride - pad
    end = np.minimum(start + kernel, extent + pad)
    valid = np.minimum(end, extent) - np.maximum(start, 0)
    return np.maximum(end - start, 1).astype(np.float64), np.maximum(valid, 1).astype(np.float64)


def fold(gradient: Array, axis: int, before: int, after: int) -> Array:
    """Adds the reflected borders of one axis back onto its inside: (..., n + before + after, ...) -> (..., n, ...).

    The order of additions is fixed: inside, then the border before, then the border behind.
    """
    moved = np.moveaxis(gradient, axis, -1)
    extent = moved.shape[-1] - before - after
    inside = moved[..., before:before + extent].copy()
    if before:
        inside[..., 1:before + 1] += moved[..., :before][..., ::-1]
    if after:
        inside[..., extent - 1 - after:extent - 1] += moved[..., before + extent:][..., ::-1]
    return np.moveaxis(inside, -1, axis)
