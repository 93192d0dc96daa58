"""The gradient of three-point interpolation: each element of the gradient is added to the three
that it was read from, by their weights.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

import numpy as np

from opgen.golden import Differentiable, ProbeCall, Tensors, present
from opgen.golden._absolute import Copies, Outputs, functions, stacked

VERSION = 1
FACTORS = {"grad_y": ("grad_x", "weight")}
PROBES = [
    ProbeCall(
        {"b": 2, "c": 3, "n": 5, "M": 4, "m": 4},
        {"grad_x": (2, 3, 5), "idx": (2, 5, 3), "weight": (2, 5, 3)},
        ("grad_y",),
    )
]


def computed(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], copies: Copies
) -> Outputs:
    """Grad_y (B, b, c, m[, 1]) from grad_x (B, b, c, n[, 1]), and idx and weight (B, b, n, 3);
    terms are added in the order of n.
    """
    if "grad_y" not in wanted:
        return {}
    gradient, idx, weight = present(tensors, "grad_x", "idx", "weight")
    b, c, n, extent = (names[letter] for letter in ("b", "c", "n", "M"))
    gradient, weight = stacked(gradient, copies), stacked(weight, copies)
    cases = len(gradient)
    terms = gradient.reshape(cases, b, c, n, 1) * weight[:, :, None]
    rows = idx.astype(np.int64)[:, :, None] % max(extent, 1)
    rows = np.concatenate([rows] * copies.number)
    rows = rows + extent * np.arange(cases * b * c).reshape(cases, b, c, 1, 1)
    sums = np.bincount(rows.reshape(-1), terms.reshape(-1), cases * b * c * extent)
    shape = cases, b, c, extent, *gradient.shape[4:]
    return {"grad_y": sums.astype(np.float64, copy=False).reshape(shape)}


golden, magnitude, both = functions(computed)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """A product, and a sum of all terms, if all have one index."""
    return prod(shapes["idx"][1:]) + 1


def forward(tensors: Tensors, names: Mapping[str, int]) -> Outputs:
    """The sum of three weighted elements."""
    image, idx, weight = present(tensors, "grad_y", "idx", "weight")
    b, c, n, extent = (names[letter] for letter in ("b", "c", "n", "M"))
    shape = len(image), b, c, n, 3
    rows = np.broadcast_to(idx.astype(np.int64)[:, :, None], shape).reshape(*shape[:3], 3 * n)
    read = np.take_along_axis(image.reshape(len(image), b, c, extent), rows, -1)
    sums = (read.reshape(shape) * weight[:, :, None]).sum(axis=-1)
    return {"grad_x": sums.reshape(*shape[:4], *image.shape[4:])}


FORWARD = Differentiable(forward, {"grad_y": "grad_y"})
