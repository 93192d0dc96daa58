"""The gradient of the negative log likelihood: each sample's target class gets the incoming
gradient times its weight, and every other class 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present

VERSION = 2
NONE, MEAN, SUM = 0, 1, 2
PROBES = [
    ProbeCall(
        {"N": 3, "C": 5, "reduction": reduction, "ignoreIndex": ignored},
        {"gradOutput": grad, "self": (3, 5), "target": (3,), "weight": (5,), "totalWeight": (1,)},
        ("out",),
    )
    for reduction, grad, ignored in [(NONE, (3,), 1), (MEAN, (), -100), (SUM, (1,), 0)]
]
FACTORS = {"out": ("gradOutput", "weight")}


def golden(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> dict[str, Array]:
    """Out (B, N, C) or (B, C): minus gradOutput (B, N), or one of all samples, times weight (B, C)
    at target (B, N), over totalWeight (B, 1) where the mean is taken.
    """
    if "out" not in wanted:
        return {}
    gradient, weight, target = present(tensors, "gradOutput", "weight", "target")
    chosen = target.astype(np.int64).reshape(len(target), -1, 1)
    factor = weight[:, None, :]
    if names["reduction"] == MEAN and tensors["totalWeight"] is not None:
        factor = factor / tensors["totalWeight"].reshape(-1, 1, 1)
    terms = -gradient.reshape(len(target), -1, 1) * factor
    counted = chosen != names["ignoreIndex"]
    out = np.where(counted & (chosen == np.arange(names["C"])), terms, 0.0)
    return {"out": out.reshape(*target.shape, names["C"])}


def magnitude(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]
) -> dict[str, Array]:
    """The size of each element, which is one term."""
    return {name: np.abs(array) for name, array in golden(tensors, names, wanted).items()}


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """A product and a quotient."""
    return 2


def forward(tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """The losses, or their sum or mean; targets are made classes of any numbers."""
    scores, target, weight = tensors["self"], tensors["target"], tensors["weight"]
    gradient = tensors["gradOutput"]
    assert scores is not None and target is not None and weight is not None
    assert gradient is not None
    classes = np.floor(target * 100).astype(np.int64) % names["C"]
    counted = np.take_along_axis(weight, classes, 1) * (classes != names["ignoreIndex"])
    losses = -counted * np.take_along_axis(scores, classes[..., None], 2)[..., 0]
    total = counted.sum(1, keepdims=True)
    if names["reduction"] != NONE:
        losses = losses.sum(1, keepdims=True) / (total if names["reduction"] == MEAN else 1)
    return {
        "gradOutput": losses.reshape(gradient.shape),
        "target": classes.astype(np.float64),
        "totalWeight": total,
    }


FORWARD = Differentiable(forward, {"out": "self"})
