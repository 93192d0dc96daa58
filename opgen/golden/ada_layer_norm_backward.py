"""The gradients of adaptive layer normalisation, from the supplied mean and rstd."""

from __future__ import annotations

from math import prod

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden._elementwise import Names, Operands, depth
from opgen.golden._normalized import RowLayout, functions, of_rows, statistics
from opgen.golden._running_error import Tracked, either

__all__ = [
    "DIFFERENCES",
    "FORWARD",
    "PROBES",
    "VERSION",
    "both",
    "depth",
    "golden",
    "magnitude",
    "saved",
]

VERSION = 2
OUTPUTS = {
    "gradInputOut": "input",
    "gradScaleOut": "scale",
    "gradShiftOut": "shift",
    "gradWeightOut": "weightOptional",
    "gradBiasOut": "biasOptional",
}
DIFFERENCES = ("gradInputOut", "gradScaleOut", "gradWeightOut")
PROBES = [
    ProbeCall(
        {},
        {
            "gradOut": (*batch, 4, 7),
            "input": (*batch, 4, 7),
            **dict.fromkeys(("rstd", "mean"), (*batch, 4, 1)),
            **dict.fromkeys(("scale", "shift"), (*batch, *one, 7)),
            "weightOptional": (7,) if weighted else None,
            "biasOptional": (7,) if weighted else None,
        },
        tuple(OUTPUTS)[: 5 if weighted else 3],
    )
    for batch, one, weighted in [((2, 3), (), True), ((), (1,), True), ((40,), (1,), False)]
]


def laid(tensors: Tensors) -> RowLayout:
    """All inputs as (B, batch, S, H), with extents of 1 where they broadcast."""
    given = {name: a for name, a in tensors.items() if a is not None}
    x = given["input"]
    outer, (rows, columns) = prod(x.shape[1:-2]), x.shape[-2:]
    row, features = (1, 1, columns), (columns,)
    shapes = {"gradOut": (outer, rows, columns), "input": (outer, rows, columns)}
    shapes |= dict.fromkeys(("mean", "rstd"), (outer, rows, 1))
    shapes |= dict.fromkeys(("scale", "shift"), (outer, 1, columns))
    shapes |= dict.fromkeys(("weightOptional", "biasOptional"), row)
    inputs = {name: a.reshape(len(x), *shapes[name]) for name, a in given.items()}
    of = {n: given[s].shape[1:] if s in given else features for n, s in OUTPUTS.items()}
    return RowLayout(inputs, of)


def formula(of: Operands, names: Names) -> dict[str, Tracked]:
    """Lines 48 to 84 of the page, aclnnAdaLayerNormBackward.md; a device may multiply before it
    subtracts.
    """
    dy, rstd, weight = of["gradOut"], of["rstd"], of.get("weightOptional", Tracked.of(1.0))
    x, mean, scaled = of["input"], of["mean"], dy * (of["scale"] + 1.0)
    normal = either((x - mean) * rstd, x * rstd - mean * rstd)
    result = normal * weight
    biased = result + of["biasOptional"] if "biasOptional" in of else result
    return {
        "gradInputOut": of_rows(scaled * weight, x, mean, rstd),
        "gradScaleOut": (dy * biased).sum(2),
        "gradShiftOut": dy.sum(2),
        "gradWeightOut": rows(scaled * normal).sum(1),
        "gradBiasOut": rows(scaled).sum(1),
    }


def rows(x: Tracked) -> Tracked:
    """All rows of a case along one axis."""
    shape = len(x.value), -1, x.value.shape[3]
    return Tracked(x.value.reshape(shape), x.error.reshape(shape))


golden, magnitude, both = functions(laid, formula)
STATISTICS = ("mean", "rstd")


def saved(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The mean and rstd of each row."""
    (x,) = present(tensors, "input")
    rows = x.reshape(len(x), prod(x.shape[1:-1]), x.shape[-1])
    return statistics(rows, tensors, "mean", "rstd")


def forward(tensors: Tensors, names: Names) -> dict[str, Array]:
    """The result, and the mean and rstd of each row."""
    (x,) = present(tensors, "input")
    mean, rstd = x.mean(-1, keepdims=True), 1 / x.std(-1, keepdims=True)
    of = laid({**tensors, "mean": mean, "rstd": rstd}).inputs
    normal = (of["input"] - of["mean"]) * of["rstd"]
    normal = normal * of.get("weightOptional", 1.0) + of.get("biasOptional", 0.0)
    result = normal * (1 + of["scale"]) + of["shift"]
    return {"gradOut": np.asarray(result).reshape(x.shape), "mean": mean, "rstd": rstd}


FORWARD = Differentiable(forward, OUTPUTS)
