"""The gradient of 2-D average pooling: every window spreads its quotient over the elements that it covered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

import numpy as np

from opgen.golden import Array, Tensors
from opgen.golden._axes import BLOCK, Windows, spread, window_sizes


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """gradInput (B, ..., Hin, Win) from gradOutput (B, ..., Hout, Wout)."""
    gradient = tensors["gradOutput"]
    assert gradient is not None
    if "gradInput" not in wanted:
        return {}
    h, w = sliding(names, "H"), sliding(names, "W")
    planes = gradient.reshape(prod(gradient.shape[:-2]), h.count, w.count)
    result = np.empty((len(planes), h.extent, w.extent))
    divisor, wide = divisors(names), max(1, h.count * w.extent)
    step = max(1, BLOCK // max(wide, h.extent * w.extent))
    for first in range(0, len(planes), step):
        quotient = planes[first:first + step] / divisor
        rows = spread(quotient, 2, w, np.empty((len(quotient), h.count, w.extent)))
        spread(rows, 1, h, result[first:first + step])
    return {"gradInput": result.reshape(*gradient.shape[:-2], h.extent, w.extent)}


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
