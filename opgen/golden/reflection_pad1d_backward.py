"""The gradient of 1-D reflection padding: every border element returns to the element that it mirrored.

One fold of the last axis, at most three terms in an element, added in a fixed order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from opgen.golden import Array, Tensors
from opgen.golden._absolute import absolute, in_one_call
from opgen.golden._axes import fold

PARTNERS: dict[str, str] = {}


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """gradInput (B, ..., W) from gradOutput (B, ..., W + padLeft + padRight)."""
    gradient = tensors["gradOutput"]
    assert gradient is not None
    return {"gradInput": fold(gradient, ((names["padLeft"], names["padRight"]),))} if "gradInput" in wanted else {}


def magnitude(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """The fold of absolute values, of the real and the imaginary part by themselves."""
    return golden({"gradOutput": absolute(tensors["gradOutput"])}, names, wanted)


def both(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> tuple[dict[str, Array], dict[str, Array]]:
    """The golden and the magnitude."""
    return in_one_call(golden, {"gradOutput": tensors["gradOutput"]}, names, wanted)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """Inside, before and behind, where there are borders."""
    return 1 + (names["padLeft"] > 0) + (names["padRight"] > 0)
