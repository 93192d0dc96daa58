"""The gradient of reflection padding: every border element returns to the element that it mirrored.

Per axis the border folds back onto the inside, so the golden is two folds (H, then W). At most nine
terms meet in an element; they are added in a fixed order, so the result does not depend on the
batch, whatever the data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from opgen.golden import Array, ProbeCall, Tensors
from opgen.golden._absolute import Copies, functions
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


def computed(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], copies: Copies
) -> dict[str, Array]:
    """GradInput (B, ..., H, W) from gradOutput (B, ..., H + padTop + padBottom, W + padLeft +
    padRight), of all copies.
    """
    borders = (names["padTop"], names["padBottom"]), (names["padLeft"], names["padRight"])
    return folded(tensors, wanted, borders, copies)


golden, magnitude, both = functions(computed)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """Inside, before and behind on each axis that has them."""
    rows = 1 + (names["padTop"] > 0) + (names["padBottom"] > 0)
    columns = 1 + (names["padLeft"] > 0) + (names["padRight"] > 0)
    return rows * columns
