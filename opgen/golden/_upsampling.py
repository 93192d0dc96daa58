"""The axes of upsampling: where each element of a larger axis lies on a smaller one, and with which
weights it is read there.

A device computes places and weights in FLOAT. A place is a few products and sums of numbers of its
size; where it may fall on either side of an element, the weights of both sides are admitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import frexp
from typing import Any

import numpy as np

from opgen.golden import Array, ProbeCall
from opgen.golden._adjoint import Names, forwards, probed
from opgen.golden._running_error import ROUNDOFF
from opgen.golden._weighted import ANY, Weighted, WeightedAxis

STEPS = 6
"""More than the roundings of a device on the way to a weight: of the scale, its reciprocal, the
place and the distances to its neighbours."""


def upsampled(
    letters: str,
    axis: Callable[..., WeightedAxis],
    keys: Sequence[str] = ("{}in", "{}out", "scales{}"),
    shared: Sequence[str] = ("alignCorners",),
) -> Callable[[Names], Weighted]:
    """The forward that reads its input at places that are linear in those of the output, over the
    axes of some letters: ``axis`` takes the names of ``keys`` for each letter, then those of
    ``shared``.
    """

    def make(*values: float) -> Weighted:
        common, sizes = values[: len(shared)], iter(values[len(shared) :])
        return Weighted(
            tuple([axis(*size, *common) for size in zip(*[sizes] * len(keys), strict=True)])
        )

    return forwards([*shared, *[key.format(a) for a in letters for key in keys]], make)


def nearest(letters: str, half: bool) -> Callable[[Names], Weighted]:
    """The forward that copies the element below each place, ``half`` of an element further or not,
    by the ratio of the extents whatever the scales are.
    """
    return upsampled(letters, partial(_below, half=half), ("{}in", "{}out"), ())


@lru_cache(maxsize=1024)
def _below(extent: int, number: int, half: bool) -> WeightedAxis:
    """The element at or below each place.

    A place on an element, or closer to one than FLOAT tells, may be rounded to either side of it,
    but not where the ratio of the extents is a power of two, so that FLOAT has every place.
    """
    twice, unit = 2 * np.arange(number) + half, 2 * number
    index, rest = np.divmod(twice * extent, unit)
    off = STEPS * ROUNDOFF * extent * twice
    ratio = number / extent if number > extent else extent / max(number, 1)
    rounded = frexp(ratio)[0] != 0.5
    down, up = (rest <= off) & (index > 0), (unit - rest <= off) & (index < extent - 1)
    other = np.where(rounded & down, index - 1, np.where(rounded & up, index + 1, -1))
    nothing, doubtful = np.zeros(number), (other >= 0) * ANY
    return WeightedAxis(
        extent,
        np.stack((index, other)),
        np.stack((nothing + 1, nothing)),
        np.stack((doubtful, doubtful)),
    )


def _places(extent: int, number: int, scale: float, align: bool) -> tuple[Array, Array]:
    """Where elements of the output lie, and by how many roundoffs a device may miss; the page's
    scale holds where it is positive and corners are not aligned.
    """
    elements = np.arange(number)
    if align:
        place = elements * ((extent - 1) / (number - 1) if number > 1 else 0.0)
        return place, STEPS * place
    place = (elements + 0.5) * (1 / scale if scale > 0 else extent / number) - 0.5
    return place, STEPS * (np.abs(place) + 1)


@lru_cache(maxsize=1024)
def linear(extent: int, number: int, scale: float, align: bool) -> WeightedAxis:
    """The two elements around each place, each weighted by its closeness."""
    place, off = _places(extent, number, scale, align)
    off = np.where(place < -off * ROUNDOFF, 0.0, off)  # surely before the first element
    place = place.clip(0, extent - 1)
    below = np.floor(place).astype(np.intp)
    part, near = place - below, off * ROUNDOFF
    beyond = np.select([part < near, part > 1 - near], [below - 1, below + 2], -1)
    index = np.minimum(np.stack((below, below + 1, beyond)), extent - 1)
    weights = np.stack((1 - part, part, np.zeros(number)))
    return WeightedAxis(extent, index, weights, np.broadcast_to(off, index.shape))


@lru_cache(maxsize=1024)
def linear_of_either(extent: int, number: int, scale: float, align: bool) -> WeightedAxis:
    """The same, where a device may go by the extents alone whatever the scale is."""
    axis = linear(extent, number, scale, align)
    if align or scale <= 0 or abs(scale * extent / number - 1) <= ROUNDOFF:
        return axis
    return axis.either(linear(extent, number, 0.0, align))


@lru_cache(maxsize=1024)
def cubic(extent: int, number: int, scale: float, align: bool) -> WeightedAxis:
    """The four elements around each place, weighted by the cubic convolution of Keys with
    a = -0.75; beyond an end lies its last element. No weight changes by more than 1.35 times the
    place.
    """
    place, off = _places(extent, number, scale, align)
    below = np.floor(place).astype(np.intp)
    part, near = place - below, off * ROUNDOFF
    beyond = np.select([part < near, part > 1 - near], [-2, 3], 2)
    taps = np.stack((*np.broadcast_arrays(-1, 0, 1, 2, part)[:4], beyond))
    far = np.abs(taps - part)
    cube = far * far * far  # a power has other bits on other processors
    terms = np.where(
        far <= 1,
        [1.25 * cube, -2.25 * far**2, np.ones_like(far), np.zeros_like(far)],
        [-0.75 * cube, 3.75 * far**2, -6 * far, 3 * np.ones_like(far)],
    )
    weights = np.where(far < 2, terms.sum(axis=0), 0.0)
    weights[4] = 0
    errors = 1.35 * off + STEPS * np.abs(terms).sum(axis=0)
    errors[4, beyond == 2] = 0
    index = (below + taps).clip(0, extent - 1)
    index[4, beyond == 2] = -1
    return WeightedAxis(extent, index, weights, errors)


def probe(
    weighted: Callable[[Names], Weighted],
    sizes: dict[str, tuple[int, int, float]],
    align: bool = False,
    gradient: str = "gradOut",
    output: str = "out",
) -> ProbeCall:
    """A probe of an upsampling: letter -> extents of its input and output, and the scale."""
    names: dict[str, Any] = {"alignCorners": int(align)}
    for a, values in sizes.items():
        names |= dict(zip([f"{a}in", f"{a}out", f"scales{a}"], values, strict=True))
    return probed(weighted(names).forward, names, 2, gradient=gradient, output=output)
