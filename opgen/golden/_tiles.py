"""Tiles: how a convolution is cut into parts that algorithms for several outputs at a time can do,
axis by axis.

A part has the taps of one phase of the stride, so that it slides with stride 1. An axis with tiles
has levels: each takes the outputs in twos, and the taps in twos, or in threes at the last. The
elements of a tensor lie in blocks, one for every place in a tile, all on one grid, where what is
one tile further is a fixed distance away, also in flat memory.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

from opgen.golden._axes import Windows
from opgen.golden._columns import pieces
from opgen.golden._convolution import Plan

PRODUCTS = {2: 3, 3: 4}
"""Multiplications that a level takes for two outputs, by its taps."""
FEW = 8
"""Channels of a group below which products of planes gain nothing."""
GAIN = 0.9
"""What tiles may cost, beside columns, to be worth it."""
Copy: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]
"""Where elements lie among the blocks, (*blocks, ..., *grid), and where on the tensor, (...,
*extents)."""


class Axis(NamedTuple):
    """One axis of a part: narrow element ``o`` and tap ``j`` meet element ``o + j*dilation +
    offset`` of the wide tensor's phase.

    The phase has ``extent`` elements, ``stride`` apart; the part has ``number`` narrow elements
    from ``first`` on, and taps ``tap``, ``tap + step``, ... ``levels`` are empty where there is one
    tap and no tiles.
    """

    first: int
    number: int
    extent: int
    phase: int
    stride: int
    tap: int
    step: int
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

    @property
    def chosen(self) -> slice:
        """The taps."""
        return slice(self.tap, self.tap + (self.taps - 1) * self.step + 1, self.step)

    def narrowed(self, start: int, stop: int) -> Axis:
        """The same with some of the narrow elements."""
        return self._replace(
            first=self.first + start, number=stop - start, offset=self.offset + start
        )

    def slices(self, wide: bool) -> list[tuple[int, slice, slice]]:
        """Where the elements of a tensor lie: the block, where on the grid, and where on the
        tensor.
        """
        offset, extent, length, origin, stride = (
            (self.offset, self.extent, self.length, self.phase, self.stride)
            if wide
            else (0, self.number, self.used, self.first, 1)
        )
        found, apart = [], self.blocks * self.unit
        for block, place in product(range(self.blocks), range(self.unit)):
            at = block * self.unit + place + offset
            low, high = max(0, -(at // apart)), min(length // self.unit, -(-(extent - at) // apart))
            if low < high:
                start = origin + (low * apart + at) * stride
                found.append(
                    (
                        block,
                        slice(
                            low * self.unit + place, (high - 1) * self.unit + place + 1, self.unit
                        ),
                        slice(start, start + (high - low - 1) * apart * stride + 1, apart * stride),
                    )
                )
        return found


Part: TypeAlias = tuple[Axis, ...]


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
def parts(plan: Plan, tiled: tuple[bool, ...]) -> tuple[Part, ...]:
    """All parts of a convolution, in which some axes have tiles, and others one tap at a time."""
    axes: list[list[Axis]] = []
    for w, tiles in zip(plan.down, tiled, strict=True):
        axes.append([])
        for indices, taps, up in w.phases():
            for some in pieces(up.kernel, up.kernel if tiles else 1):
                number, offset = some.stop - some.start, up.pad - some.start * up.dilation
                axes[-1].append(
                    Axis(
                        0,
                        up.extent,
                        up.number,
                        indices.start,
                        w.stride,
                        taps.start + some.start * taps.step,
                        taps.step,
                        number,
                        -up.dilation,
                        offset,
                        levels(number),
                    )
                )
    return tuple(product(*axes))


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
    cut: list[list[Axis]] = []
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
    found: list[Copy] = []
    for choice in product(*[axis.slices(wide) for axis in part]):
        at, on_grid, on_tensor = zip(*choice, strict=True)
        found.append(((*at, ..., *on_grid), (..., *on_tensor)))
    return tuple(found)


def cost(plan: Plan, tiled: tuple[bool, ...], samples: int, c: int, m: int) -> float:
    """About the nanoseconds per group of some samples with ``c`` and ``m`` channels, as measured
    with OpenBLAS on a Zen 4 core.

    Products, which are slower for few channels, copies to and fro, sums of blocks, planes of
    weights, and calls. What moves memory counts double, since other cores may move some too.
    """
    total, some = 0.0, parts(plan, tiled)
    for part in some:
        unit, live, several = prod(grid(part)) * samples, 1, prod(blocks(part))
        total += unit * several * (c + (2 if len(some) == 1 else 4) * m) * 1.2
        for products in planes(part):
            live, several = live * products, several // 2
            total += live * several * unit * (m * 2.5 + c * 0.5) * 0.5
        positions = samples * part[0].used * prod(grid(part)[1:])
        total += live * positions * (c * m * 4 / 45 * (1 + 8 / min(c, m)) + (c + m) * 0.2)
        total += c * m * (live + prod([axis.taps for axis in part])) * 4 + live * 15000
    return total


def cost_of_columns(plan: Plan, samples: int, c: int, m: int) -> float:
    """The same without tiles: products, and the columns of all taps."""
    taps, positions = prod([w.kernel for w in plan.down]), prod([w.number for w in plan.down])
    slow = 1.25 if any(w.stride > 1 for w in plan.down) else 1.0
    return samples * taps * positions * (c * m * 4 / 50 + m * 0.7) * slow


@lru_cache(maxsize=1024)
def choices(plan: Plan, samples: int, c: int, m: int) -> tuple[tuple[tuple[bool, ...], int], ...]:
    """The axes that should have tiles, and their levels, the best choice first; none where columns
    do as well.
    """
    able = [(False, True) if worth(w) and min(c, m) >= FEW else (False,) for w in plan.down]
    costs = sorted(
        (cost(plan, tiled, samples, c, m), tiled) for tiled in product(*able) if any(tiled)
    )
    most = GAIN * cost_of_columns(plan, samples, c, m)
    chosen = [tiled for estimate, tiled in costs if estimate < most]
    return tuple(
        (tiled, max([len(planes(part)) for part in parts(plan, tiled)], default=0))
        for tiled in chosen
    )


def worth(w: Windows) -> bool:
    """Whether an axis can have tiles: several taps in some phase, and room for two outputs; not
    many copies of few elements.
    """
    return w.kernel > 1 and w.number > 1 and w.dilation <= 4
