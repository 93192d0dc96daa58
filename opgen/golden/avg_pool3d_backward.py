"""The gradient of 3-D average pooling: every window spreads its quotient over the elements that it covered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

from opgen.golden import Array, Tensors
from opgen.golden._absolute import absolute, in_one_call
from opgen.golden._pooling import planned, pool


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """gradInput (B, ..., Din, Hin, Win) from gradOutput (B, ..., Dout, Hout, Wout)."""
    gradient = tensors["gradOutput"]
    assert gradient is not None
    return {"gradInput": pool(gradient, planned(names, "DHW"))} if "gradInput" in wanted else {}


def magnitude(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """The pooling of absolute values, whatever the sign of the divisor."""
    found = golden({"gradOutput": absolute(tensors["gradOutput"])}, names, wanted)
    return {name: absolute(array) for name, array in found.items()}


def both(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> tuple[dict[str, Array], dict[str, Array]]:
    """The golden and the magnitude."""
    goldens, sizes = in_one_call(golden, {"gradOutput": tensors["gradOutput"]}, names, wanted)
    return goldens, {name: absolute(array) for name, array in sizes.items()}


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The windows that meet in an element, and three roundings of the factor."""
    return prod(min(names[a + "out"], -(-names["k" + a] // names["s" + a])) for a in "DHW") + 3
