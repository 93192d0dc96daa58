"""The gradient of 2-D average pooling: every window spreads its quotient over the elements that it covered."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._axes import Windows, window_sizes


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """gradInput (B, ..., Hin, Win) from gradOutput (B, ..., Hout, Wout)."""
    gradient = tensors["gradOutput"]
    assert gradient is not None
    if "gradInput" not in wanted:
        return {}
    quotient = gradient / divisors(names)
    rows = spread(quotient, sliding(names, "W"), -1)
    return {"gradInput": spread(rows, sliding(names, "H"), -2)}


def sliding(names: Mapping[str, int], axis: str) -> Windows:
    """The windows of one axis."""
    extent, count, kernel = names[f"{axis}in"], names[f"{axis}out"], names[f"k{axis}"]
    return Windows(extent, count, kernel, names[f"s{axis}"], pad=names[f"pad{axis}"])


def divisors(names: Mapping[str, int]) -> Array:
    """What each window is divided by, (Hout, Wout) or (1, 1): the override, or the covered elements."""
    if names["divisorOverride"]:
        return np.full((1, 1), float(names["divisorOverride"]))
    rows = window_sizes(names["Hin"], names["Hout"], names["kH"], names["sH"], names["padH"])
    columns = window_sizes(names["Win"], names["Wout"], names["kW"], names["sW"], names["padW"])
    which = 0 if names["countIncludePad"] else 1
    return rows[which][:, None] * columns[which][None, :]


def spread(values: Array, windows: Windows, axis: int) -> Array:
    """Adds each window's value to every index it meets, tap by tap: (..., count, ...) -> (..., extent, ...)."""
    source = np.moveaxis(values, axis, -1)
    result = np.zeros((*source.shape[:-1], windows.extent))
    for r in range(windows.kernel):
        outer, inner = windows.tap(r)
        result[..., inner] += source[..., outer]
    return np.ascontiguousarray(np.moveaxis(result, -1, axis))


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
