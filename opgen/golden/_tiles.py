"""Tiles: how a convolution of stride 1 is cut for algorithms that do several outputs at a time,
axis by axis.

An axis with several taps has levels: each takes the outputs in twos, and the taps in twos, or in
threes at the last. The elements of a tensor lie in blocks, one for every place in a tile, all on
one grid, where what is one tile further is a fixed distance away, also in flat memory.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple, TypeAlias

from opgen.golden._columns import Index, pieces
from opgen.golden._convolution import ConvolutionGeometry

PRODUCTS = {2: 3, 3: 4}
"""Multiplications that a level takes for two outputs, by its taps."""
CHANNELS, POSITIONS = 96, 512
"""Channels of a group, and positions of all samples, from which on tiles are faster than
columns."""
MOST_DILATION = 4
"""A larger one makes many copies of few elements."""
Copy: TypeAlias = tuple[Index, Index]
"""Where elements lie among the blocks, (*blocks, ..., *grid), and where on the tensor, (...,
*extents)."""


class TiledAxis(NamedTuple):
    """One axis: narrow element ``o`` and tap ``j`` meet element ``o + j*dilation + offset`` of the
    ``extent`` of the wide tensor, of the ``number`` narrow elements from ``first`` on. ``levels``
    are empty where there is one tap.
    """

    first: int
    number: int
    extent: int
    taps: int
    dilation: int
    offset: int
    levels: tuple[int, ...]

    @property
    def blocks(self) -> int:
        return 1 << len(self.levels)

    @property
    def unit(self) -> int:
        """Positions of the grid in a tile."""
        return self.dilation if self.levels else 1

    @property
    def used(self) -> int:
        """The positions of the grid that have narrow elements, or filling."""
        return -(-self.number // (self.blocks * self.unit)) * self.unit

    @property
    def length(self) -> int:
        """The positions of the grid: at every level the wide tensor reaches one tile further."""
        return self.used + len(self.levels) * self.unit

    def narrowed(self, start: int, stop: int) -> TiledAxis:
        """The same with some of the narrow elements."""
        return self._replace(
            first=self.first + start, number=stop - start, offset=self.offset + start
        )

    def slices(self, wide: bool) -> list[tuple[int, slice, slice]]:
        """Where the elements of a tensor lie: the block, where on the grid, and where on the
        tensor.
        """
        offset, extent, length, origin = (
            (self.offset, self.extent, self.length, 0)
            if wide
            else (0, self.number, self.used, self.first)
        )
        result, apart = [], self.blocks * self.unit
        for block, place in product(range(self.blocks), range(self.unit)):
            start = block * self.unit + place + offset
            low = max(0, -(start // apart))
            high = min(length // self.unit, -(-(extent - start) // apart))
            if low < high:
                on_grid = slice(
                    low * self.unit + place, (high - 1) * self.unit + place + 1, self.unit
                )
                first = origin + low * apart + start
                on_tensor = slice(first, first + (high - low - 1) * apart + 1, apart)
                result.append((block, on_grid, on_tensor))
        return result


Part: TypeAlias = tuple[TiledAxis, ...]


def blocks(part: Part) -> tuple[int, ...]:
    """The blocks on every axis."""
    return tuple([axis.blocks for axis in part])


def grid(part: Part) -> tuple[int, ...]:
    """The extents of the grid."""
    return tuple([axis.length for axis in part])


def planes(part: Part) -> tuple[int, ...]:
    """The products of every level of every axis."""
    return tuple([PRODUCTS[taps] for axis in part for taps in axis.levels])


@lru_cache(maxsize=512)
def part_of(geometry: ConvolutionGeometry) -> Part:
    """A whole convolution."""
    return tuple(
        TiledAxis(0, w.number, w.extent, w.kernel, w.dilation, -w.pad, levels(w.kernel))
        for w in geometry.down
    )


def levels(taps: int) -> tuple[int, ...]:
    """Twos, and a two or a three at last, that have the fewest products for so many taps.

    >>> [levels(taps) for taps in (1, 2, 3, 4, 5, 7)]
    [(), (2,), (3,), (2, 2), (2, 3), (2, 2, 2)]
    """
    if taps <= 1:
        return ()
    return (taps,) if taps <= 3 else (2, *levels(-(-taps // 2)))


@lru_cache(maxsize=512)
def fitting(part: Part, room: int) -> tuple[Part, ...]:
    """Cuts a part by whole tiles, the first axes first, until its grid has no more positions than
    there is room.
    """
    cut: list[list[TiledAxis]] = []
    for i, axis in enumerate(part):
        rest, tile = (
            prod([c[0].length for c in cut]) * prod(grid(part[i + 1 :])),
            axis.blocks * axis.unit,
        )
        most = max(1, room // (rest * axis.unit) - len(axis.levels))
        tiles = -(-axis.number // tile)
        cut.append(
            [
                axis.narrowed(s.start * tile, min(s.stop * tile, axis.number))
                for s in pieces(tiles, -(-tiles // -(-tiles // most)))
            ]
        )
    return tuple(product(*cut))


@lru_cache(maxsize=512)
def copies(part: Part, wide: bool) -> tuple[Copy, ...]:
    """What lies where of the wide or of the narrow tensor."""
    result: list[Copy] = []
    for choice in product(*[axis.slices(wide) for axis in part]):
        block, on_grid, on_tensor = zip(*choice, strict=True)
        result.append(((*block, ..., *on_grid), (..., *on_tensor)))
    return tuple(result)


def worth(geometry: ConvolutionGeometry, samples: int, channels: int) -> bool:
    """Whether tiles are faster than columns, for so many samples and channels of a group of either
    tensor, whichever has fewer.
    """
    windows = geometry.down
    return (
        channels >= CHANNELS
        and samples * prod([w.number for w in windows]) >= POSITIONS
        and max([w.kernel for w in windows]) > 1
        and all(
            w.stride == 1 and w.dilation <= MOST_DILATION and (w.kernel == 1 or w.number > 1)
            for w in windows
        )
    )
