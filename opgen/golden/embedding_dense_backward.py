"""The gradient of an embedding's weights: each row of the gradient is added to the row that its
index names, or to none where that is the padding.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

import numpy as np

from opgen.golden import Array, ProbeCall, Tensors, present

VERSION = 2
PROBES = [
    ProbeCall(
        {"numWeights": 4, "paddingIdx": padding, "scaleGradByFreq": scaled},
        {"grad": (2, 3, 5), "indices": (2, 3)},
        ("out",),
    )
    for padding, scaled in [(1, 0), (2**64 - 1, 1)]
]


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """Out (B, numWeights, D) from grad (B, ..., D) and as many indices (B, ...) as it has rows;
    the sum is divided by how often its index occurs where scaleGradByFreq asks for it. Rows are
    added in their order.
    """
    if "out" not in wanted:
        return {}
    gradient, indices = present(tensors, "grad", "indices")
    cases, width, weights = len(gradient), gradient.shape[-1], names["numWeights"]
    rows = indices.reshape(cases, prod(indices.shape[1:])).astype(np.int64) % max(weights, 1)
    rows += weights * np.arange(cases)[:, None]
    places = width * rows[..., None] + np.arange(width)
    sums = np.bincount(places.reshape(-1), gradient.reshape(-1), cases * weights * width)
    out = sums.astype(np.float64, copy=False).reshape(cases, weights, width)
    if names["scaleGradByFreq"]:
        counts = np.bincount(rows.reshape(-1), minlength=cases * weights)
        out /= np.maximum(counts, 1).reshape(cases, weights, 1)
    if 0 <= names["paddingIdx"] < weights:
        out[:, names["paddingIdx"]] = 0
    return {"out": out}


def magnitude(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]
) -> dict[str, Array]:
    """The same of absolute terms."""
    (gradient,) = present(tensors, "grad")
    return golden({**tensors, "grad": np.abs(gradient)}, names, wanted)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """A sum of all rows, if all have one index; a reciprocal and a product where it is scaled."""
    return max(prod(shapes["indices"]), 1) + 2 * bool(names["scaleGradByFreq"])
