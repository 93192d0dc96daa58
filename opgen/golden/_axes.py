"""Windows that slide along one axis, as convolutions have them."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import NamedTuple

BLOCK = 1 << 16  # elements of float64 that are worked on at a time: 512 KiB


class Windows(NamedTuple):
    """Windows that slide along one axis: window ``o`` meets index ``o*stride + r*dilation - pad``
    with its tap ``r``.

    ``number`` windows of ``kernel`` taps over an axis of ``extent`` elements, ``pad`` elements
    before its first.
    """

    extent: int
    number: int
    kernel: int
    stride: int = 1
    dilation: int = 1
    pad: int = 0

    def tap(self, r: int, begin: int = 0, end: int | None = None) -> tuple[slice, slice]:
        """Where tap ``r`` of some windows lies on the axis: the windows, counted from ``begin``,
        and what they meet.
        """
        end = self.number if end is None else end
        first = r * self.dilation - self.pad
        low = max(begin, -(first // self.stride))
        high = min(end - 1, (self.extent - 1 - first) // self.stride)
        if high < low:
            return slice(0, 0), slice(0, 0)
        start = low * self.stride + first
        return slice(low - begin, high + 1 - begin), slice(
            start, start + (high - low) * self.stride + 1, self.stride
        )

    def within(self, begin: int, end: int) -> tuple[slice, Windows]:
        """The windows that meet a piece of the axis, and how they meet it."""
        first = max(
            0, (begin + self.pad - (self.kernel - 1) * self.dilation - 1) // self.stride + 1
        )
        last = max(first, min(self.number, (end - 1 + self.pad) // self.stride + 1))
        pad = self.pad + begin - first * self.stride
        return slice(first, last), Windows(
            end - begin, last - first, self.kernel, self.stride, self.dilation, pad
        )

    def phases(self) -> Iterator[tuple[slice, slice, Windows]]:
        """Splits the indices by phase of the stride: the indices, the taps that meet them, and
        windows the other way.

        Those slide with stride 1, a window per index of the phase and an index per window of this
        axis.
        """
        step = self.stride // gcd(self.stride, self.dilation)
        for phase in range(min(self.stride, self.extent)):
            first = next(
                (
                    r
                    for r in range(min(step, self.kernel))
                    if (phase + self.pad - r * self.dilation) % self.stride == 0
                ),
                self.kernel,
            )
            indices, kept = slice(phase, None, self.stride), slice(first, None, step)
            yield (
                indices,
                kept,
                Windows(
                    self.number,
                    len(range(phase, self.extent, self.stride)),
                    len(range(first, self.kernel, step)),
                    1,
                    -self.dilation * step // self.stride,
                    (first * self.dilation - phase - self.pad) // self.stride,
                ),
            )

    @property
    def overlap(self) -> int:
        """The largest number of windows that can meet in one index."""
        return min(self.number, -(-self.kernel // (self.stride // gcd(self.stride, self.dilation))))
