"""The axes of average pools: windows of one kernel size, or as many as there are outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce

import numpy as np

from opgen.golden import Array, ProbeCall
from opgen.golden._adjoint import Forward, Names, forwards, probed
from opgen.golden._gathers import Gather


def pooled(letters: str) -> Callable[[Names], Forward]:
    """The forward of an average pool over the axes of some letters.

    Windows are divided by ``divisorOverride`` if it is not 0, else by what they cover, with the
    padding or without it.
    """

    def make(override: int, padded: int, *sizes: int) -> Forward:
        axes = [_windows(*size, bool(padded)) for size in zip(*[iter(sizes)] * 5, strict=True)]
        divisors = np.full([1] * len(axes), float(override)) if override else _product(axes)
        return Forward(tuple([axis for axis, _ in axes]), divisors)

    sizes = [key.format(a) for a in letters for key in ("{}in", "{}out", "k{}", "s{}", "pad{}")]
    return forwards(["divisorOverride", "countIncludePad", *sizes], make)


def adaptively_pooled(letters: str) -> Callable[[Names], Forward]:
    """The forward of an adaptive average pool over the axes of some letters."""

    def make(*sizes: int) -> Forward:
        axes = [shares(*size) for size in zip(*[iter(sizes)] * 2, strict=True)]
        return Forward(tuple([axis for axis, _ in axes]), _product(axes))

    return forwards([a + end for a in letters for end in ("in", "out")], make)


def scale(names: Names) -> int:
    """The exponent of the power of two below the size of a divisor that overrides those of the
    windows.
    """
    return max(abs(names["divisorOverride"]), 1).bit_length() - 1


def probe(
    letters: str,
    extent: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    pad: tuple[int, ...],
    override: int,
    padded: int,
) -> ProbeCall:
    """A probe of an average pool over the axes of some letters."""
    sizes = zip(letters, extent, kernel, stride, pad, strict=True)
    names = {"divisorOverride": override, "countIncludePad": padded}
    for a, n, k, s, p in sizes:
        out = (n + 2 * p - k) // s + 1
        names |= {f"{a}in": n, f"{a}out": out, f"k{a}": k, f"s{a}": s, f"pad{a}": p}
    return probed(pooled(letters)(names), names)


def _product(axes: Sequence[tuple[Gather, Array]]) -> Array:
    """What windows of several axes are divided by."""
    return reduce(np.multiply.outer, [covered for _, covered in axes])


@lru_cache(maxsize=1024)
def _windows(
    extent: int, number: int, kernel: int, stride: int, pad: int, padded: bool
) -> tuple[Gather, Array]:
    """An axis, and how many elements each window covers.

    The padding after the axis ends a window, also where the ceiling of the output size lets it
    hang over.
    """
    start = np.arange(number) * stride - pad
    covered = np.minimum(start + kernel, extent + pad) - start
    index = start + np.arange(kernel)[:, None]
    axis = Gather(extent, np.where((index >= 0) & (index < extent), index, -1))
    return axis, _divisors(covered if padded else (axis.index >= 0).sum(axis=0))


@lru_cache(maxsize=1024)
def shares(extent: int, number: int) -> tuple[Gather, Array]:
    """An axis that is cut into so many parts, which overlap where they do not fit, and their
    sizes.
    """
    start = np.arange(number) * extent // number
    covered = -(np.arange(1, number + 1) * -extent // number) - start
    taps = np.arange(covered.max(initial=0))[:, None]
    return Gather(extent, np.where(taps < covered, start + taps, -1)), _divisors(covered)


def _divisors(covered: Array) -> Array:
    """A window that meets nothing counts 1, so that it can be divided by."""
    return np.maximum(covered, 1).astype(np.float64)
