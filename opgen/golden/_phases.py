"""Phases of a convolution: the elements of gradOutput and of input, and the taps, that windows of
stride 1 join.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from opgen.golden._axes import Windows
from opgen.golden._convolution import ConvolutionGeometry


@dataclass(frozen=True, slots=True)
class Polyphase:
    """Elements of both tensors and the taps that join them, by windows over both that share their
    positions.
    """

    dy: tuple[slice, ...]
    x: tuple[slice, ...]
    taps: tuple[slice, ...]
    over_dy: tuple[Windows, ...]
    over_x: tuple[Windows, ...]

    @property
    def positions(self) -> tuple[int, ...]:
        """The extents of the grid of positions."""
        return tuple([w.number for w in self.over_x])

    def rows(self, c: int, m: int) -> tuple[int, int]:
        """The rows of the columns of some channels of gradOutput and of input."""
        return c * prod([w.kernel for w in self.over_dy]), m * prod([w.kernel for w in self.over_x])


@lru_cache(maxsize=1024)
def phases(geometry: ConvolutionGeometry, split: int) -> tuple[Polyphase, ...]:
    """All that have taps, with those of the axes before ``split`` at input and the others at
    gradOutput.
    """
    all_, axes = slice(None), []
    for axis, w in enumerate(geometry.down):
        by_phase = (axis < split) == geometry.transposed
        axes.append(
            [(indices, taps, alone(up.number), up) for indices, taps, up in w.phases() if up.kernel]
            if by_phase
            else [(all_, all_, w, alone(w.number))]
        )
    result, every = [], (all_,) * len(axes)
    for choice in product(*axes):
        wide, taps, over_wide, over_narrow = zip(*choice, strict=True)
        result.append(
            Polyphase(wide, every, taps, over_wide, over_narrow)
            if geometry.transposed
            else Polyphase(every, wide, taps, over_narrow, over_wide)
        )
    return tuple(result)


def alone(extent: int) -> Windows:
    """Windows that meet their own index alone."""
    return Windows(extent, extent, 1)


def natural(geometry: ConvolutionGeometry) -> int:
    """The split whose products have the weight and its gradient in the order of memory."""
    return 0 if geometry.transposed else len(geometry.down)


@lru_cache(maxsize=1024)
def best_split(geometry: ConvolutionGeometry, c: int, m: int) -> int:
    """The split that moves the fewest elements: those of columns, where input's count twice since
    they are read and added back, and those of the weight and its gradient, unless the products
    have them in the order of memory.

    A single row costs nothing: products with a vector are quick.
    """
    weight = c * m * prod([w.kernel for w in geometry.down])

    def cost(split: int) -> int:
        total = 0 if split == natural(geometry) else 6 * weight
        for phase in phases(geometry, split):
            right, left = phase.rows(c, m)
            total += prod(phase.positions) * (right + left * (left > 1) * (1 + (left > m)))
        return total

    return min(range(len(geometry.down) + 1), key=cost)
