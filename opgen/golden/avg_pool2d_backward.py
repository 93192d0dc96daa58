"""The gradient of 2-D average pooling: every window spreads its quotient over the elements that it covered."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._pooling import plan_of, pool


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """gradInput (B, ..., Hin, Win) from gradOutput (B, ..., Hout, Wout).

    The same bits in every batch and under every BLAS, whatever the data; exact if gradOutput is in multiples of the
    divisors.
    """
    gradient = tensors["gradOutput"]
    assert gradient is not None
    if "gradInput" not in wanted:
        return {}
    h, w = ((names["k" + a], names["s" + a], names["pad" + a], names[a + "in"], names[a + "out"]) for a in "HW")
    plan = plan_of((h, w), names["divisorOverride"], bool(names["countIncludePad"]))
    return {"gradInput": pool(gradient, plan)}


def magnitude(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """The pooling of absolute values by the absolute divisor."""
    gradient = tensors["gradOutput"]
    assert gradient is not None
    positive = {**names, "divisorOverride": abs(names["divisorOverride"])}
    return golden({"gradOutput": np.abs(gradient)}, positive, wanted)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The windows that meet in an element, and two roundings of the factor."""
    rows = min(names["Hout"], -(-names["kH"] // names["sH"]))
    columns = min(names["Wout"], -(-names["kW"] // names["sW"]))
    return rows * columns + 2
