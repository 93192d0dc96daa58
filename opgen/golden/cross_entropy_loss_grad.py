"""The gradient of the cross entropy of classes, without smoothed labels: the softmax of each sample
less 1 at its target, times the incoming gradient and the target's weight.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden._absolute import Both, Outputs
from opgen.golden._elementwise import SECOND_ORDER, Names, depth, masked, passed
from opgen.golden._running_error import Tracked, exp
from opgen.golden._softmax import log_softmax

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "golden", "magnitude", "saved"]

VERSION = 1
PROBES = [
    ProbeCall(
        {"C": 5, "ignoreIndex": ignored, "reductionOptional": reduction},
        {"gradLoss": grad, "logProb": (7, 5), "target": (7,), "weightOptional": weight},
        ("out",),
    )
    for reduction, grad, ignored, weight in [
        ("none", (7,), 1, (5,)),
        ("mean", (), 0, (5,)),
        ("sum", (), -100, None),
    ]
]


def both(tensors: Tensors, names: Names, wanted: Collection[str]) -> Both:
    """Out (B, N, C) from logProb, of gradLoss (B, N) or (B), target (B, N) and weights (B, C). A
    sample that is ignored passes 0: there any value may come of Inf or NaN.
    """
    if "out" not in wanted:
        return {}, {}
    grad, log_prob, target = present(tensors, "gradLoss", "logProb", "target")
    chosen, counted = _classes(target, names)
    weight = Tracked.given(_weight(tensors["weightOptional"], chosen) * counted)
    gradient = Tracked.given(grad.reshape(len(grad), -1, 1))
    if names["reductionOptional"] == "mean":
        gradient = gradient / weight.sum(1)
    part = masked(gradient * weight, counted)
    shared = passed(part, exp(Tracked.given(log_prob)))
    own = (shared - part).unless(~np.isfinite(part.value))
    out = own.where(chosen, shared)
    return {"out": out.value}, {"out": np.fmax(out.error * SECOND_ORDER, np.abs(out.value))}


def golden(tensors: Tensors, names: Names, wanted: Collection[str]) -> Outputs:
    """The gradient."""
    return both(tensors, names, wanted)[0]


def magnitude(tensors: Tensors, names: Names, wanted: Collection[str]) -> Outputs:
    """What a device may be wrong by, in units of its roundoff."""
    return both(tensors, names, wanted)[1]


def saved(tensors: Tensors, names: Names) -> Outputs:
    """The logarithm of the softmax of each sample."""
    (x,) = present(tensors, "logProb")
    return {"logProb": log_softmax(x, {"dim": -1})}


def _classes(target: Array, names: Names) -> tuple[Array, Array]:
    """Where each sample (B, N, C) has its target, and which samples (B, N, 1) are not ignored."""
    classes = target.astype(np.int64)[..., None]
    return classes == np.arange(names["C"]), classes != names["ignoreIndex"]


def _weight(weight: Array | None, chosen: Array) -> Array:
    """The weight of each target (B, N, 1), 1 where the call gives none."""
    weights = 1.0 if weight is None else weight[:, None]
    result: Array = np.where(chosen, weights, 0.0).sum(-1, keepdims=True)
    return result


def forward(tensors: Tensors, names: Names) -> Outputs:
    """The losses, or their sum or mean; targets are made classes of any numbers."""
    x, target, grad = present(tensors, "x", "target", "gradLoss")
    classes = np.floor(target * 100) % names["C"]
    chosen, counted = _classes(classes, names)
    weight = _weight(tensors["weightOptional"], chosen) * counted
    log_prob = x - np.log(np.exp(x).sum(-1, keepdims=True))
    losses = -(weight * log_prob * chosen).sum((-2, -1), keepdims=True)
    if names["reductionOptional"] == "none":
        losses = -(weight * log_prob * chosen).sum(-1)
    elif names["reductionOptional"] == "mean":
        losses = losses / weight.sum((-2, -1), keepdims=True)
    return {"gradLoss": losses.reshape(grad.shape), "logProb": log_prob, "target": classes}


FORWARD = Differentiable(forward, {"out": "x"})
