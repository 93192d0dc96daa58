"""The axes of pads whose border is made of elements of the input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from opgen.golden import Array, ProbeCall
from opgen.golden._adjoint import Forward, Names, forwards, probed
from opgen.golden._gathers import Gather

Border: TypeAlias = Callable[[Array, int], Array]
"""From places, negative before an axis, and its extent to the elements that stand there."""
NAMES = {
    "D": ("D", "padFront", "padBack"),
    "H": ("H", "padTop", "padBottom"),
    "W": ("W", "padLeft", "padRight"),
}
"""Letter -> what a call names its extent, and the borders before and after it."""


def reflected(places: Array, extent: int) -> Array:
    """Mirrored at the first and last element, which are not repeated."""
    mirrored: Array = extent - 1 - np.abs(extent - 1 - np.abs(places))
    return mirrored


def replicated(places: Array, extent: int) -> Array:
    """The first or the last element."""
    return places.clip(0, extent - 1)


def repeated(places: Array, extent: int) -> Array:
    """The elements of the other end."""
    return places % extent


def padded(letters: str, border: Border) -> Callable[[Names], Forward]:
    """The forward of a pad of the axes of some letters."""

    def make(*sizes: int) -> Forward:
        axes = [_axis(*size, border) for size in zip(*[iter(sizes)] * 3, strict=True)]
        return Forward(tuple(axes))

    return forwards([name for letter in letters for name in NAMES[letter]], make)


@lru_cache(maxsize=1024)
def _axis(extent: int, before: int, after: int, border: Border) -> Gather:
    return Gather(extent, border(np.arange(-before, extent + after), extent)[None])


def probe(
    forward: Callable[[Names], Forward],
    sizes: Mapping[str, tuple[int, int, int]],
    complex_: bool = False,
) -> ProbeCall:
    """A probe of a pad: letter -> extent, border before, border after."""
    names: dict[str, int] = {}
    for a, values in sizes.items():
        names |= dict(zip(NAMES[a], values, strict=True))
    return probed(forward(names), names, 2, complex_)
