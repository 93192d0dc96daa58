"""Tiles: how a convolution is cut for algorithms that do several elements of input at a time, axis
by axis.

Elements of input are taken by phases of the stride, and taps in threes, so that every part is a
convolution of stride 1 whose windows slide over gradOutput. What lies at one place of all tiles is
on their grid; tiles of a dilated convolution lie within one another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, reduce
from itertools import product
from math import prod
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen.golden._axes import Windows
from opgen.golden._columns import Index, pieces
from opgen.golden._convolution import ConvolutionGeometry
from opgen.golden._filters import Filter, minimal
from opgen.golden._phases import phases

TAPS = 3
"""Of a part, on one axis, at most."""
CHANNELS = 48
"""Of a group, from which on tiles may be faster than columns."""
MOST_DILATION = 4
"""A larger one makes many copies of few elements."""
OUTPUTS = (2, 4)
"""Of a part, on one axis that has taps."""
Copy: TypeAlias = tuple[Index, Index]
"""Where elements lie among the places of tiles, (*places, ..., *grid), and where on the tensor,
(..., *extents)."""


class TiledAxis(NamedTuple):
    """One axis: ``number`` elements of input from ``first`` on, of which ``outputs`` lie in a tile;
    element ``o`` and tap ``r`` meet element ``o + r * dilation - pad`` of the ``extent`` of
    gradOutput.
    """

    first: int
    number: int
    extent: int
    taps: int
    dilation: int
    pad: int
    outputs: int

    @property
    def unit(self) -> int:
        """How far apart the elements of a tile are."""
        return abs(self.dilation) if self.taps > 1 else 1

    @property
    def tile(self) -> int:
        """How far apart tiles are."""
        return self.outputs * self.unit

    @property
    def length(self) -> int:
        """The extent of the grid."""
        return -(-self.number // self.tile) * self.unit

    @property
    def filter(self) -> Filter:
        """The algorithm, whose taps meet what lies further and further behind."""
        forth = minimal(self.outputs, self.taps)
        return forth if self.dilation > 0 else forth.reversed()

    def narrowed(self, start: int, stop: int) -> TiledAxis:
        """The same with some of the elements of input."""
        return self._replace(first=self.first + start, number=stop - start)

    def slices(self, upstream: bool) -> list[tuple[int, slice, slice]]:
        """Where the elements of gradOutput or of input lie: the place in a tile, where on the grid,
        and where on the tensor.
        """
        places, origin, stop = self.outputs, self.first, self.first + self.number
        if upstream:
            places += self.taps - 1
            origin += min(0, self.dilation * (self.taps - 1)) - self.pad
            stop = self.extent
        result = []
        for place, within in product(range(places), range(self.unit)):
            start = origin + place * self.unit + within
            low = max(0, -(start // self.tile))
            high = min(self.length // self.unit, -(-(stop - start) // self.tile))
            if low < high:
                on_grid, on_tensor = (
                    slice(low * apart + begin, (high - 1) * apart + begin + 1, apart)
                    for apart, begin in ((self.unit, within), (self.tile, start))
                )
                result.append((place, on_grid, on_tensor))
        return result


class Tiling(NamedTuple):
    """Tiles on all axes."""

    axes: tuple[TiledAxis, ...]

    @property
    def grid(self) -> tuple[int, ...]:
        """The extents of the grid."""
        return tuple([axis.length for axis in self.axes])

    def places(self, upstream: bool) -> tuple[int, ...]:
        """The places in a tile, of gradOutput or of input."""
        return tuple([axis.outputs + upstream * (axis.taps - 1) for axis in self.axes])


class Part(NamedTuple):
    """Elements of both tensors and taps that are joined; ``add``: other parts have the same
    elements of input.
    """

    dy: Index
    x: Index
    taps: Index
    tiling: Tiling
    add: bool


@lru_cache(maxsize=512)
def parts_of(geometry: ConvolutionGeometry, outputs: tuple[int, ...]) -> tuple[Part, ...]:
    """A whole convolution, in tiles of so many elements of input on every axis that has taps."""
    result = []
    for phase in phases(geometry, 0):
        axes = [
            list(runs(w, taps, most))
            for w, taps, most in zip(phase.over_dy, phase.taps, outputs, strict=True)
        ]
        add = any(len(some) > 1 for some in axes)
        for choice in product(*axes):
            taps, tiled = zip(*choice, strict=True)
            result.append(Part(phase.dy, phase.x, taps, Tiling(tiled), add))
    return tuple(result)


def runs(w: Windows, taps: slice, outputs: int) -> Iterator[tuple[slice, TiledAxis]]:
    """Cuts the taps of an axis into runs that an algorithm takes, as few as there can be and
    alike.
    """
    first, step = taps.start or 0, taps.step or 1
    for run in pieces(w.kernel, alike(w.kernel, TAPS)):
        number = run.stop - run.start
        yield (
            slice(first + run.start * step, first + run.stop * step, step),
            TiledAxis(
                0,
                w.number,
                w.extent,
                number,
                w.dilation,
                w.pad - run.start * w.dilation,
                outputs if number > 1 else 1,
            ),
        )


def alike(total: int, most: int) -> int:
    """The size of pieces of at most ``most``, as few as there can be and alike.

    >>> alike(320, 256), alike(320, 400)
    (160, 320)
    """
    return -(-total // -(-total // most))


@lru_cache(maxsize=512)
def filter_of(tiling: Tiling) -> Filter:
    """The algorithm of all axes."""
    *factors, divisors = zip(*[axis.filter for axis in tiling.axes], strict=True)
    narrow, wide, weight = (reduce(np.kron, some) for some in factors)
    return Filter(narrow, wide, weight, prod(divisors))


def growth(parts: tuple[Part, ...]) -> float:
    """How many times larger all sums can be than those of the definition."""
    return max([prod([axis.filter.growth for axis in part.tiling.axes]) for part in parts])


@lru_cache(maxsize=512)
def fitting(tiling: Tiling, room: int) -> tuple[Tiling, ...]:
    """Cuts the grid, the first axes first, until it has no more positions than there is room."""
    cut: list[list[TiledAxis]] = []
    for i, axis in enumerate(tiling.axes):
        rest = prod([some[0].length for some in cut]) * prod(tiling.grid[i + 1 :])
        tiles = axis.length // axis.unit
        step = alike(tiles, max(1, room // (rest * axis.unit))) * axis.tile
        cut.append([axis.narrowed(s.start, s.stop) for s in pieces(axis.number, step)])
    return tuple([Tiling(axes) for axes in product(*cut)])


@lru_cache(maxsize=512)
def copies(tiling: Tiling, upstream: bool) -> tuple[Copy, ...]:
    """What lies where of gradOutput or of input."""
    result: list[Copy] = []
    for choice in product(*[axis.slices(upstream) for axis in tiling.axes]):
        place, on_grid, on_tensor = zip(*choice, strict=True)
        result.append(((*place, ..., *on_grid), (..., *on_tensor)))
    return tuple(result)


@lru_cache(maxsize=512)
def choices(
    geometry: ConvolutionGeometry, samples: int, c: int, m: int
) -> tuple[tuple[Part, ...], ...]:
    """The tilings that are faster than columns, the fastest first, for so many samples and channels
    of gradOutput and of input.

    ``python -m tests.bench layers`` measures what is estimated here, in nanoseconds.
    """
    few = min(c, m) < CHANNELS or all(w.kernel <= w.stride for w in geometry.down)
    strided = geometry.transposed and any(w.stride > 1 for w in geometry.down)
    if few or strided or any(w.dilation > MOST_DILATION for w in geometry.down):
        return ()
    narrow, wide = (
        samples * prod(extents) for extents in zip(*[w[1::-1] for w in geometry.down], strict=True)
    )
    taps = prod([w.kernel for w in geometry.down])
    read = max(c, m) * narrow + min(c, m) * wide + c * m * taps  # to know that there is room
    most = c * m * taps * narrow / 17 + 2 * (min(c, m) * taps * narrow - read)
    faster = []
    for outputs in product(OUTPUTS, repeat=len(geometry.down)):
        parts = parts_of(geometry, outputs)
        if parts and (cost := sum([estimate(p.tiling, samples, c, m) for p in parts])) < most:
            faster.append((cost, parts))
    return tuple([parts for _, parts in sorted(faster, key=itemgetter(0))])


def estimate(tiling: Tiling, samples: int, c: int, m: int) -> float:
    """The nanoseconds that a part takes: products, planes of tensors and those of weights."""
    number, taps = filter_of(tiling).weight.shape
    positions = samples * prod(tiling.grid)
    products = c * m * number * positions / 14 * (1 + 32 / min(c, m) + 24 / positions)
    tensors = c * planes(number, tiling.places(True)) + 2 * m * planes(number, tiling.places(False))
    return float(products + positions * tensors + c * m * taps * (number / 5 + 4))


def planes(number: int, places: tuple[int, ...]) -> float:
    """The nanoseconds that so many planes take of what lies at the places of a tile."""
    size = prod(places)
    return number * size / 25 + number / 2 + size * 2.5
