"""The gradient of reflection padding: every border element returns to the element that it mirrored.

Per axis the border folds back onto the inside, so the golden is two folds (H, then W). At most nine
terms meet in an element; they are added in a fixed order, so the result does not depend on the
batch, whatever the data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from opgen.golden import Array, ProbeCall, Tensors
from opgen.golden._absolute import BOTH, GOLDEN, MAGNITUDE, Copies, halves
from opgen.golden._folding import folded

VERSION = 1
PROBES = [
    ProbeCall(
        {"padTop": top, "padBottom": bottom, "padLeft": left, "padRight": right},
        {"gradOutput": shape},
        ("gradInput",),
        complex_,
    )
    for top, bottom, left, right, shape, complex_ in [
        (1, 2, 2, 0, (2, 7, 9), False),
        (2, 2, 3, 3, (2, 7, 10), False),
        (1, 0, 3, 2, (3, 8, 11), True),
        (9, 12, 20, 10, (2, 160, 170), False),
    ]
]
PARTNERS: dict[str, str] = {}


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """GradInput (B, ..., H, W) from gradOutput (B, ..., H + padTop + padBottom, W + padLeft +
    padRight).
    """
    return computed(tensors, names, wanted, GOLDEN)


def magnitude(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]
) -> dict[str, Array]:
    """The fold of absolute values, of the real and the imaginary part by themselves."""
    return computed(tensors, names, wanted, MAGNITUDE)


def both(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The golden and the magnitude."""
    return halves(computed(tensors, names, wanted, BOTH))


def computed(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], copies: Copies
) -> dict[str, Array]:
    """The outputs of all copies of all cases."""
    borders = (names["padTop"], names["padBottom"]), (names["padLeft"], names["padRight"])
    return folded(tensors, wanted, borders, copies)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """Inside, before and behind on each axis that has them."""
    rows = 1 + (names["padTop"] > 0) + (names["padBottom"] > 0)
    columns = 1 + (names["padLeft"] > 0) + (names["padRight"] > 0)
    return rows * columns
