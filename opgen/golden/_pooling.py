"""Average pooling over any number of axes, backward.

Windows spread axis by axis, the last first, by slices, in a fixed order of additions: the result
depends neither on the batch nor on a BLAS, whatever the data. Small planes are gathered by an index
or multiplied by matrices of zeros and ones instead, but only where no order of additions can
matter: where at most two values meet in a sum, or where all sums are exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache, reduce
from math import prod
from typing import NamedTuple

import numpy as np

from opgen.golden import Array, ProbeCall, Tensors
from opgen.golden._absolute import Copies
from opgen.golden._axes import BLOCK, Windows, spread, window_sizes
from opgen.golden._matrices import SMALL, kronecker, multiply, orderless

WHOLE = 1 << 10  # elements of the matrix of a plane up to which it is faster than one per axis


class PooledAxis(NamedTuple):
    """One axis of a pooling: its windows, and the elements that each covers, with the padding and
    without it.

    If it is small, also whether a window meets an index, (number, extent) of 0 and 1, and if every
    index has exactly one window, which.
    """

    windows: Windows
    sizes: tuple[Array, Array]
    matrix: Array | None
    source: Array | None


class PoolingGeometry(NamedTuple):
    """The geometry of a call: windows per axis, what they are divided by, and how many elements a
    plane has on the way.

    Small planes have an index, the window of every element, or a matrix per axis or for all axes
    together, in whose products so many ``terms`` meet, at most.
    """

    axes: tuple[Windows, ...]
    divisors: Array
    elements: int
    source: Array | None = None
    matrices: tuple[Array, ...] = ()
    terms: int = 0


def probe(
    letters: str,
    extent: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    pad: tuple[int, ...],
    override: int,
    padded: int,
) -> ProbeCall:
    """A probe of a kernel over the axes of some letters."""
    windows = [
        (n + 2 * p - k) // s + 1 for n, k, s, p in zip(extent, kernel, stride, pad, strict=True)
    ]
    names = {"divisorOverride": override, "countIncludePad": padded}
    for name, values in (("{}in", extent), ("{}out", windows), ("k{}", kernel), ("s{}", stride)):
        names |= {name.format(a): value for a, value in zip(letters, values, strict=True)}
    names |= {f"pad{a}": p for a, p in zip(letters, pad, strict=True)}
    return ProbeCall(names, {"gradOutput": (1, *windows)}, ("gradInput",))


def scale_of(divisor: int) -> int:
    """The exponent of the power of two below the size of a divisor; 0 for none."""
    return max(abs(divisor), 1).bit_length() - 1


def pooled(
    tensors: Tensors,
    names: Mapping[str, int],
    wanted: Collection[str],
    letters: str,
    copies: Copies,
    block: int = BLOCK,
) -> dict[str, Array]:
    """The outputs of a kernel over the axes of some letters, of all copies of all cases; about
    ``block`` elements are worked on at a time.
    """
    gradient = tensors["gradOutput"]
    assert gradient is not None
    if "gradInput" not in wanted:
        return {}
    sizes = tuple(
        [
            (names[a + "in"], names[a + "out"], names["k" + a], names["s" + a], 1, names["pad" + a])
            for a in letters
        ]
    )
    geometry = geometry_of(sizes, names["divisorOverride"], names["countIncludePad"])
    copied = pool(gradient, geometry, copies, block)
    return {"gradInput": copied.reshape(copies.number * len(gradient), *copied.shape[2:])}


@lru_cache(maxsize=256)
def geometry_of(sizes: tuple[tuple[int, ...], ...], override: int, padded: int) -> PoolingGeometry:
    """The geometry of a call, from the fields of the :class:`Windows` of its axes.

    Windows are divided by ``override`` if it is not 0, else by what they cover, with the padding or
    without it.
    """
    axes = [axis_of(size) for size in sizes]
    windows = tuple([axis.windows for axis in axes])
    if override:
        divisors = np.full([1] * len(axes), float(override))
    else:
        divisors = reduce(np.multiply.outer, [axis.sizes[0 if padded else 1] for axis in axes])
    elements = prod([max(w.number, w.extent) for w in windows])
    matrices = [axis.matrix for axis in axes if axis.matrix is not None]
    if len(matrices) < len(axes):
        return PoolingGeometry(windows, divisors, elements)
    sources = [axis.source for axis in axes if axis.source is not None]
    if len(sources) == len(axes):
        source = sources[0]
        for w, inner in zip(windows[1:], sources[1:], strict=True):
            source = np.add.outer(source * w.number, inner).reshape(-1)
        return PoolingGeometry(windows, divisors, elements, source)
    overlaps = [w.overlap for w in windows]
    if prod([matrix.size for matrix in matrices]) <= WHOLE:
        return PoolingGeometry(
            windows, divisors, elements, None, (reduce(kronecker, matrices),), prod(overlaps)
        )
    return PoolingGeometry(
        windows,
        divisors,
        elements,
        None,
        tuple(matrices),
        prod(overlaps) if max(overlaps) > 2 else 2,
    )


@lru_cache(maxsize=1024)
def axis_of(size: tuple[int, ...]) -> PooledAxis:
    """An axis, from the fields of its :class:`Windows`."""
    windows = Windows(*size)
    if not 0 < windows.number * windows.extent <= SMALL:
        return PooledAxis(windows, window_sizes(windows), None, None)
    first = np.arange(windows.number) * windows.stride - windows.pad
    inside = np.arange(windows.extent) - first[:, None]
    matrix = ((inside >= 0) & (inside < windows.kernel)).astype(np.float64)
    alone = windows.overlap == 1 and bool(matrix.any(0).all())
    return PooledAxis(windows, window_sizes(windows), matrix, matrix.argmax(0) if alone else None)


def pool(gradient: Array, geometry: PoolingGeometry, copies: Copies, block: int) -> Array:
    """The gradient of a pooling's input: (..., *numbers of windows) -> (copies, ..., *extents)."""
    rank = len(geometry.axes)
    lead, extents = gradient.shape[:-rank], [w.extent for w in geometry.axes]
    planes = gradient.reshape(prod(lead), *gradient.shape[-rank:])
    result = np.empty((copies.number, len(planes), *extents))
    step = max(1, block // max(1, copies.number * geometry.elements))
    cuts = (
        [(slice(None), slice(None), geometry)]
        if geometry.elements <= 4 * block
        else list(cut(geometry, block))
    )
    for first in range(0, len(planes), step):
        for windows, rows, part in cuts:
            pool_planes(
                planes[first : first + step, windows],
                result[:, first : first + step, rows],
                part,
                copies,
            )
    return result.reshape(copies.number, *lead, *extents)


def cut(geometry: PoolingGeometry, block: int) -> Iterator[tuple[slice, slice, PoolingGeometry]]:
    """Cuts large planes: the rows of windows, the rows that they meet, and the geometry between the
    two.
    """
    number, extent = geometry.axes[0].number, geometry.axes[0].extent
    rows = max(1, block * max(number, extent) // geometry.elements)
    for begin in range(0, extent, rows):
        end = min(begin + rows, extent)
        numbers, windows = geometry.axes[0].within(begin, end)
        divisors = geometry.divisors if len(geometry.divisors) == 1 else geometry.divisors[numbers]
        yield (
            numbers,
            slice(begin, end),
            PoolingGeometry((windows, *geometry.axes[1:]), divisors, geometry.elements),
        )


def pool_planes(gradient: Array, result: Array, geometry: PoolingGeometry, copies: Copies) -> None:
    """Writes the gradients of some planes: (planes, *numbers of windows) -> (copies, planes,
    *extents).
    """
    values = np.empty((copies.number, *gradient.shape))
    np.divide(gradient, geometry.divisors, out=values[0])
    if copies.absolute:
        np.abs(values[0], values[-1])
    if geometry.source is not None:
        out = result.reshape(copies.number, len(gradient), len(geometry.source))
        values.reshape(copies.number, len(gradient), -1).take(
            geometry.source, axis=2, mode="clip", out=out
        )
    elif geometry.matrices and orderless(values[-1].reshape(-1), geometry.terms):
        multiply(values, geometry.matrices, range(len(geometry.matrices) - 1, -1, -1), result)
    else:
        for axis in range(len(geometry.axes) - 1, -1, -1):
            windows = geometry.axes[axis]
            shape = (*values.shape[: axis + 2], windows.extent, *values.shape[axis + 3 :])
            values = spread(values, axis + 2, windows, result if axis == 0 else np.empty(shape))
