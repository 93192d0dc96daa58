"""The gradient of 1-D reflection padding: every border element returns to the element that it
mirrored.

One fold of the last axis, at most three terms in an element, added in a fixed order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from opgen.golden import Array, ProbeCall, Tensors
from opgen.golden._absolute import Copies, functions
from opgen.golden._folding import folded

VERSION = 1
PROBES = [
    ProbeCall({"padLeft": left, "padRight": right}, {"gradOutput": shape}, ("gradInput",), complex_)
    for left, right, shape, complex_ in [
        (2, 3, (2, 9), False),
        (3, 3, (3, 10), True),
        (20, 30, (3, 9000), False),
    ]
]
PARTNERS: dict[str, str] = {}


def computed(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], copies: Copies
) -> dict[str, Array]:
    """GradInput (B, ..., W) from gradOutput (B, ..., W + padLeft + padRight), of all copies."""
    return folded(tensors, wanted, ((names["padLeft"], names["padRight"]),), copies)


golden, magnitude, both = functions(computed)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """Inside, before and behind, where there are borders."""
    return 1 + (names["padLeft"] > 0) + (names["padRight"] > 0)
