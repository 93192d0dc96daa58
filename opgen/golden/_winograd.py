"""Large convolutions with fewer multiplications, by minimal filtering algorithms on tiles.

Planes of gradOutput, of input and of the weight are multiplied, one by one, and make planes of the
gradients. A matrix product with the factors of all axes makes planes of what lies at the places of
tiles: it multiplies more than sums along one axis after the other would, and takes less time, since
it reads and writes everything once. The terms are larger than those of the definition, so that sums
of floating-point numbers would differ in their last bits: only data that
:mod:`opgen.golden._exactness` has found to leave room for all of them come here, and the result is
exact, after a division that is exact as well.

``python -m tests.bench layers`` says what that is worth, layer by layer.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import product
from math import prod

import numpy as np
from numpy.typing import DTypeLike

from opgen.golden import Array
from opgen.golden._columns import Index, Scratch, pieces
from opgen.golden._convolution import ConvolutionGeometry, Operands
from opgen.golden._tiles import Part, Tiling, alike, copies, filter_of, fitting

WEIGHT = 1 << 21  # elements of the planes of a piece of the weight, and of its gradient: 16 MiB
PLANES = 1 << 23  # elements of the planes of a piece of the tensors: 64 MiB
CACHED = 1 << 18  # elements at the places of tiles, and of their planes, at a time: 2 MiB


def tiled(
    t: Operands,
    geometry: ConvolutionGeometry,
    parts: tuple[Part, ...],
    *,
    dtype: DTypeLike = np.float64,
    weight: int = WEIGHT,
    tensors: int = PLANES,
) -> None:
    """Both gradients, with so many elements of the planes of ``weight`` and ``tensors``, all of a
    ``dtype``.
    """
    samples, c, m = t.dy.shape[1], t.dy.shape[3], t.x.shape[3]
    if len(parts) > 1 or any(w.stride > 1 for w in geometry.down):
        for array in (t.gx, t.gw):
            if array is not None:
                array[...] = 0.0
    space = Space(dtype)
    for part in parts:
        number = len(filter_of(part.tiling).narrow)
        step = alike(m, max(1, weight // (number * c)))
        elements = number * (c + 2 * step)
        cuts = fitting(part.tiling, max(1, tensors // elements))
        together = max(1, min(samples, tensors // (elements * prod(cuts[0].grid))))
        for b, g in np.ndindex(len(t.w), t.dy.shape[2]):
            for i, (cut, n) in enumerate(product(cuts, pieces(samples, together))):
                piece = Piece(space, cut, t.dy[(b, n, g, ..., *part.dy)], geometry.transposed)
                for mm in pieces(m, step):
                    x: Index = (b, n, g, mm, *part.x)
                    w: Index = (b, g, mm, slice(None), *part.taps)
                    if t.gx is not None:
                        piece.input(piece.weights(t.w[w]), t.gx[x], add=part.add)
                    if t.gw is not None:
                        piece.weight(t.x[x], t.gw[w], add=i > 0)


class Space:
    """Memory for arrays of a ``dtype``, by name, that is kept for the next of that name."""

    def __init__(self, dtype: DTypeLike) -> None:
        self.dtype, self.filled = np.dtype(dtype), object()
        self._scratch: dict[str, Scratch] = defaultdict(partial(Scratch, dtype))

    def shaped(self, name: str, *shape: int) -> Array:
        """An array of whatever values."""
        return self._scratch[name].shaped(*shape)


class Piece:
    """Some positions of all channels of gradOutput, (samples, channels, *extents), and what they
    give to the gradients.

    Planes are (products, channels, samples * grid), those of the weight (products, channels,
    channels) in the order of memory: those of input first where the convolution is ``transposed``.
    """

    def __init__(self, space: Space, tiling: Tiling, dy: Array, transposed: bool) -> None:
        self.space, self.tiling, self.transposed = space, tiling, transposed
        *factors, divisor = filter_of(tiling)
        self.narrow, wide, self.taps = (some.astype(space.dtype) for some in factors)
        self.halves, self.odd = divisor & -divisor, divisor // (divisor & -divisor)
        self.upstream = self.planes("dy", wide, dy, upstream=True)

    def planes(self, name: str, factors: Array, source: Array, *, upstream: bool) -> Array:
        """Planes of a tensor (samples, channels, *extents)."""
        (number, places), grid = factors.shape, self.tiling.grid
        (samples, channels), size, some = (
            source.shape[:2],
            len(source) * prod(grid),
            copies(self.tiling, upstream),
        )
        result = self.space.shaped(name, number, channels, size)
        for c in pieces(channels, CACHED // ((number + places) * size)):
            shape = *self.tiling.places(upstream), c.stop - c.start, samples, *grid
            at_places, filled = self.space.shaped("places", *shape), (shape, some)
            if self.space.filled != filled:
                at_places[...], self.space.filled = 0.0, filled
            for on_grid, on_tensor in some:
                at_places[on_grid] = source[(slice(None), c, *on_tensor[1:])].swapaxes(0, 1)
            np.matmul(factors, at_places.reshape(places, -1), out=of_channels(result, c))
        return result

    def weights(self, w: Array) -> Array:
        """Planes of some weights, (channels of input, of gradOutput, *taps)."""
        w = self.in_order(w)
        result = self.space.shaped("weight", len(self.taps), *w.shape[:2])
        taps = w.reshape(-1, self.taps.shape[1]).astype(self.space.dtype, copy=False)
        np.matmul(self.taps, taps.T, out=result.reshape(len(result), -1))
        return result

    def in_order(self, w: Array) -> Array:
        """Weights (channels of input, of gradOutput, *taps) in the order of memory."""
        return w if self.transposed else w.swapaxes(0, 1)

    def input(self, weights: Array, gx: Array, *, add: bool) -> None:
        """The gradient of some channels of input, from planes of their weights."""
        left = weights if self.transposed else weights.swapaxes(1, 2)
        shape = *left.shape[:2], self.upstream.shape[2]
        sums = np.matmul(left, self.upstream, out=self.space.shaped("x", *shape))
        narrow, (samples, channels) = self.narrow.T / self.halves, gx.shape[:2]
        for c in pieces(channels, CACHED // ((len(narrow) + shape[0]) * shape[2])):
            flat = self.space.shaped("places", len(narrow), (c.stop - c.start) * shape[2])
            self.space.filled = None
            at_places = np.matmul(narrow, of_channels(sums, c), out=flat).reshape(
                *self.tiling.places(False), -1, samples, *self.tiling.grid
            )
            for on_grid, on_tensor in copies(self.tiling, False):
                target = gx[(slice(None), c, *on_tensor[1:])].swapaxes(0, 1)
                self.write(target, at_places[on_grid], add)

    def weight(self, x: Array, gw: Array, *, add: bool) -> None:
        """The gradient of the weights that join some channels of input with all of gradOutput."""
        planes, target = self.planes("x", self.narrow, x, upstream=False), self.in_order(gw)
        first, second = (planes, self.upstream) if self.transposed else (self.upstream, planes)
        sums = self.space.shaped("weight", len(planes), first.shape[1], second.shape[1])
        np.matmul(first, second.swapaxes(1, 2), out=sums)
        taps = np.matmul(sums.reshape(len(sums), -1).T, self.taps / self.halves)
        self.write(target, taps.reshape(target.shape), add)

    def write(self, target: Array, values: Array, add: bool) -> None:
        """Writes sums, or adds them, divided by what is left of the divisor."""
        if add:
            target += values / self.odd
        elif self.odd > 1:
            np.divide(values, self.odd, out=target)
        else:
            target[...] = values


def of_channels(planes: Array, c: slice) -> Array:
    """Planes of some channels, (products, channels * the rest)."""
    size = planes.shape[2]
    return planes.reshape(len(planes), -1)[:, c.start * size : c.stop * size]
