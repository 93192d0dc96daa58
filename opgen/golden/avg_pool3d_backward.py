"""The gradient of 3-D average pooling: every window spreads its quotient over the elements that it covered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._pooling import plan_of, pool


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """gradInput (B, ..., Din, Hin, Win) from gradOutput (B, ..., Dout, Hout, Wout)."""
    gradient = tensors["gradOutput"]
    assert gradient is not None
    if "gradInput" not in wanted:
        return {}
    sizes = tuple((names["k" + a], names["s" + a], names["pad" + a], names[a + "in"], names[a + "out"]) for a in "DHW")
    return {"gradInput": pool(gradient, plan_of(sizes, names["divisorOverride"], bool(names["countIncludePad"])))}


def magnitude(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """The pooling of absolute values by the absolute divisor."""
    gradient = tensors["gradOutput"]
    assert gradient is not None
    return golden({"gradOutput": np.abs(gradient)}, {**names, "divisorOverride": abs(names["divisorOverride"])}, wanted)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The windows that meet in an element, and three roundings of the factor."""
    return prod(min(names[a + "out"], -(-names["k" + a] // names["s" + a])) for a in "DHW") + 3
