"""Wrong kernels: what reflection padding folds back, and onto which elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from opgen.golden import Array
from opgen.quality.mutants.geometry import BORDERS
from opgen.quality.mutants.mutant import Computation, Mutant, Outputs, WrongKernel, on_gradient
from opgen.spec.spec import Spec


def mirrored(padded: int, extent: int, before: int, repeat: int = 0) -> Array:
    """Where each padded position comes from; ``repeat`` 1 where the edge itself is mirrored too."""
    place = np.arange(padded) - before
    place = np.where(place < 0, -place - repeat, place)
    place = np.where(place > extent - 1, 2 * (extent - 1) - place + repeat, place)
    return np.clip(place, 0, extent - 1)


def reflected(names: Mapping[str, int]) -> list[str]:
    """The axes that reflection pads, innermost first."""
    return [axis for axis in "WHD" if axis + "out" in names]


def folded(repeat: int = 0, **taken: str) -> WrongKernel:
    """A fold that takes other names for the padding before some axes."""

    def kernel(given: Computation) -> Outputs:
        n, result = given.names, given.gradient
        for place, axis in enumerate(reflected(n), 1):
            before = n[taken.get(axis, BORDERS[axis][0])]
            padded = np.moveaxis(result, -place, 0)
            inner = np.zeros((n[axis], *padded.shape[1:]), padded.dtype)
            np.add.at(inner, mirrored(n[axis + "out"], n[axis], before, repeat), padded)
            result = np.moveaxis(inner, 0, -place)
        return dict.fromkeys(given.wanted, result)

    return kernel


def without(join: Callable[[Array, Array], Array]) -> WrongKernel:
    """The corners of the border contribute nothing where ``join`` is *and*, the whole border where
    it is *or*.
    """

    def gradient(given: Computation) -> Array:
        n, outside = given.names, []
        for place, axis in enumerate(reflected(n)):
            position = np.arange(n[axis + "out"]) - n[BORDERS[axis][0]]
            beyond = (position < 0) | (position >= n[axis])
            outside.append(beyond.reshape(-1, *(1,) * place))
        return np.where(reduce(join, outside), 0, given.gradient)

    return on_gradient(gradient)


def reflects(spec: Spec) -> bool:
    """Whether an operator pads by reflection: others call their paddings by the same names."""
    return spec.op.startswith("reflection_pad")


MUTANTS = (
    Mutant(
        "reflection_padding_swapped",
        "the paddings are read in the order top, bottom, left, right",
        ("padTop", "padLeft", "H", "W"),
        kernel=folded(H="padLeft", W="padTop"),
        where=reflects,
    ),
    Mutant(
        "left_right_swapped",
        "the right padding is used on the left",
        ("padRight", "W"),
        kernel=folded(W="padRight"),
        where=reflects,
    ),
    Mutant(
        "top_bottom_swapped",
        "the bottom padding is used at the top",
        ("padBottom", "H", "W"),
        kernel=folded(H="padBottom"),
        where=reflects,
    ),
    Mutant(
        "edge_repeated",
        "the reflection is off by one: the edge is mirrored too",
        ("padLeft", "W"),
        kernel=folded(repeat=1),
        where=reflects,
    ),
    Mutant(
        "corners_missing",
        "the corners of the border contribute nothing",
        ("padLeft", "H", "W"),
        kernel=without(np.logical_and),
        where=reflects,
    ),
    Mutant(
        "border_missing",
        "the border contributes nothing",
        ("padLeft", "W"),
        kernel=without(np.logical_or),
        where=reflects,
    ),
)
