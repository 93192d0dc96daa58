"""Planes: the factors of the products that minimal filtering algorithms need, and the gradients
that come back from them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from opgen.golden import Array
from opgen.golden._columns import Scratch
from opgen.golden._tiles import Part, blocks, copies, grid

# The factors of the products, by the taps of a level. Those of the tensors are sums and differences
# of even and odd blocks (E, O) and of the next ones of their kind (e, o). For three taps, the four
# products add up to narrow E * (wide E * w0 + O * w1 + e * w2) + narrow O * (O * w0 + e * w1 + o *
# w2); the three for two taps, to that without w2.
WIDE = {2: ("E-O", "O", "e-O"), 3: ("E-e", "O+e", "e-O", "o-O")}
NARROW = {2: ("E", "E+O", "O"), 3: ("E", "E+O", "E-O", "O")}
TAPS = {2: ((1, 0), (1, 1), (0, 1)), 3: ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))}
ORDER = {2: (1, 0, 2), 3: (1, 2, 0, 3)}
"""In which the products are taken: those first whose sum and difference are free of halves."""


class Level(NamedTuple):
    """A level: its taps, how many blocks it takes in twos, and how far on the grid the next tile
    is.
    """

    taps: int
    blocks: int
    far: int


class Workspace:
    """Arrays of a ``dtype`` by name and level, of whatever values, in memory that is kept for the
    next of that name.
    """

    def __init__(self, dtype: DTypeLike = np.float64) -> None:
        self._scratch: dict[tuple[str, int], Scratch] = defaultdict(partial(Scratch, dtype))

    def shaped(self, name: str, level: int, *shape: int) -> Array:
        return self._scratch[name, level].shaped(*shape)


class Planes:
    """The planes of a piece: ``weight`` and the ``sums`` of its gradient, (*products, groups,
    narrow channels, wide channels).

    A level takes the blocks of both tensors in twos, (blocks, elements), and makes one plane of
    half as many after the other, which the next level takes; the last are multiplied. ``sums`` are
    not wanted if None; they hold anything until they have ``begun``.
    """

    def __init__(
        self, weight: Array, sums: Array | None, transposed: bool, space: Workspace
    ) -> None:
        self.weight, self.sums, self.transposed, self.space = weight, sums, transposed, space
        self.filled: object = None
        self.begun = False

    def run(
        self, part: Part, narrow: Array, wide: Array, gradient: Array | None, add: bool
    ) -> None:
        """Adds what a part gives to the sums, or begins them with it, and writes or adds it to the
        gradient: (samples, groups, channels, *extents).
        """
        self.levels = [
            Level(taps, axis.blocks >> level, axis.unit * prod(grid(part)[i + 1 :]))
            for i, axis in enumerate(part)
            for level, taps in enumerate(axis.levels)
        ]
        self.unit, self.used, self.lead = (
            prod(grid(part)),
            part[0].used * prod(grid(part)[1:]),
            narrow.shape[:2],
        )
        n, w = (
            self.space.shaped(name, 0, *blocks(part), *tensor.shape[:3], *grid(part))
            for name, tensor in (("narrow", narrow), ("wide", wide))
        )
        places = copies(part, False), copies(part, True)
        filled = n.shape, [[on_blocks for on_blocks, _ in some] for some in places]
        if self.filled != filled:
            n[...], w[...], self.filled = 0.0, 0.0, filled
        for target, source, some in zip((n, w), (narrow, wide), places, strict=True):
            for on_blocks, on_tensor in some:
                target[on_blocks] = source[on_tensor]
        if gradient is None:
            self.level(0, n.reshape(1, -1), w.reshape(1, -1), self.weight, self.sums, None)
            return
        g = self.space.shaped("gradient", 0, *blocks(part), *gradient.shape[:3], *grid(part))
        self.level(0, n.reshape(1, -1), w.reshape(1, -1), self.weight, self.sums, g.reshape(1, -1))
        for on_blocks, on_tensor in places[0 if self.transposed else 1]:
            if add:
                gradient[on_tensor] += g[on_blocks]
            else:
                gradient[on_tensor] = g[on_blocks]

    def level(
        self,
        depth: int,
        narrow: Array,
        wide: Array,
        weight: Array,
        sums: Array | None,
        gradient: Array | None,
    ) -> None:
        """Adds to the sums, and writes the gradient, from the blocks of both tensors."""
        if depth == len(self.levels):
            self.multiply(narrow, wide, weight, sums, gradient)
            return
        level = self.levels[depth]
        narrow, wide = narrow.reshape(level.blocks, -1), wide.reshape(level.blocks, -1)
        gradient = None if gradient is None else gradient.reshape(level.blocks, -1)
        for k in ORDER[level.taps]:
            n = factor(NARROW[level.taps][k], narrow, 0, self.plane("narrow", depth + 1, narrow))
            w = factor(WIDE[level.taps][k], wide, level.far, self.plane("wide", depth + 1, wide))
            if gradient is None:
                self.level(depth + 1, n, w, weight[k], None if sums is None else sums[k], None)
                continue
            memory = self.plane("first", depth, gradient), self.plane("second", depth, gradient)
            target = target_of(level, k, gradient, *memory, self.transposed)
            self.level(depth + 1, n, w, weight[k], None if sums is None else sums[k], target)
            if level.taps == 3 and k == 2:  # the sum and the difference, of either tensor
                np.subtract(*memory, out=gradient[1::2])
                memory[0][...] += memory[1]
            else:
                (narrow_gradient if self.transposed else wide_gradient)(level, k, gradient, *memory)

    def plane(self, name: str, level: int, tensor: Array) -> Array:
        """Memory for half of the blocks of a tensor."""
        return self.space.shaped(name, level, len(tensor) // 2, tensor.shape[1])

    def multiply(
        self, narrow: Array, wide: Array, weight: Array, sums: Array | None, gradient: Array | None
    ) -> None:
        """One product: of its planes with each other, and of the weight's with that of
        gradOutput.
        """
        n, w = (
            plane.reshape(*self.lead, -1, self.unit)[..., : self.used] for plane in (narrow, wide)
        )
        if sums is not None:
            first = not self.begun
            if first:
                np.matmul(n[0], w[0].swapaxes(-1, -2), out=sums)
            for product in np.matmul(
                n[first:],
                w[first:].swapaxes(-1, -2),
                out=self.space.shaped("products", 0, len(n) - first, *sums.shape),
            ):
                sums += product
        if gradient is not None:
            g = gradient.reshape(*self.lead, -1, self.unit)
            used = g[..., : self.used]
            np.matmul(*((weight, w) if self.transposed else (weight.swapaxes(-1, -2), n)), out=used)
            g[..., self.used :] = 0.0


def factor(formula: str, values: Array, far: int, out: Array) -> Array:
    """A sum or difference of blocks, or those themselves; behind the last tile zeros."""
    even, odd = values[::2], values[1::2]
    if len(formula) == 1:
        return even if formula == "E" else odd
    combine: Callable[..., Array] = np.add if formula[1] == "+" else np.subtract
    terms = [(odd if name in "Oo" else even, name in "oe") for name in formula[::2]]
    if not any(next_ for _, next_ in terms):
        return combine(terms[0][0], terms[1][0], out=out)
    near = values.shape[1] - far
    if len(out) > 1:
        combine(*[some[1:] if next_ else some[:-1] for some, next_ in terms], out=out[:-1])
    combine(
        *[some[0, far:] if next_ else some[-1, :near] for some, next_ in terms], out=out[-1, :near]
    )
    out[-1, near:] = 0.0
    return out


def target_of(
    level: Level, k: int, gradient: Array, first: Array, second: Array, transposed: bool
) -> Array:
    """Where the gradient of a plane is written: to its blocks themselves if it is the first
    there.
    """
    even, odd = gradient[::2], gradient[1::2]
    if level.taps == 3:
        return (even, first, second, second)[k]
    return (even, first, odd)[k] if transposed else (even, odd, first)[k]


def wide_gradient(level: Level, k: int, gradient: Array, first: Array, second: Array) -> None:
    """Takes the gradient of a plane to that of the blocks that it is a sum of."""
    even, odd = gradient[::2], gradient[1::2]
    if level.taps == 2 and k == 0:
        odd -= even
    elif level.taps == 2 and k == 2:
        odd -= first
        add_to_next(even, first, level.far)
    elif level.taps == 3 and k == 0:
        first -= even
        add_to_next(even, first, level.far)
    elif level.taps == 3 and k == 3:
        odd -= second
        add_to_next(odd, second, level.far)


def narrow_gradient(level: Level, k: int, gradient: Array, first: Array, second: Array) -> None:
    """The same for the narrow tensor, whose planes are sums within a tile."""
    even, odd = gradient[::2], gradient[1::2]
    if k == 0:
        even += first
    elif k == level.taps:
        odd += first if k == 2 else second


def add_to_next(blocks: Array, values: Array, far: int) -> None:
    """Adds to the next block of the same kind; from the last one to the first, a tile further."""
    blocks[1:] += values[:-1]
    blocks[0, far:] += values[-1, : values.shape[1] - far]
