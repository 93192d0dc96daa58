"""The gradients of batch normalisation, from saved statistics in training and from running ones
outside of it.

In training it is group normalisation of one sample: each channel is a group, whose elements are
those of all samples. Otherwise the statistics are constants, and gradInput is a product.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

import numpy as np

from opgen.golden import Array, ProbeCall, Tensors, present
from opgen.golden import group_norm_backward as group_norm
from opgen.golden._absolute import Copies, Outputs, functions
from opgen.golden._normalized import statistics
from opgen.golden._running_error import total

VERSION = 1
PROBES = [
    ProbeCall(
        {"training": training, "eps": 64, "C": shape[1]},
        {
            "gradOut": shape,
            "input": shape,
            "weight": (shape[1],) if weighted else None,
            **dict.fromkeys(("runningMean", "runningVar", "saveMean", "saveInvstd"), (shape[1],)),
        },
        ("gradInput", "gradWeight", "gradBias"),
    )
    for training in (1, 0)
    for shape, weighted in [((3, 5), True), ((2, 3, 4, 5), True), ((2, 3, 300), False)]
]
DIFFERENCES = ("gradInput", "gradWeight")
FACTORS = {"gradBias": ("gradOut",)}
OUTPUTS = {"gradInput": "gradInput", "gradWeight": "gradGammaOut", "gradBias": "gradBetaOut"}
ROOT = 12
"""More than the roundings of a device on the way to ``1 / sqrt(runningVar + eps)``."""


def computed(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], copies: Copies
) -> Outputs:
    """GradInput (B, N, C, ...), gradWeight and gradBias (B, C), of all copies."""
    x, dy, training = tensors["input"], tensors["gradOut"], names["training"]
    assert x is not None and dy is not None
    batch, samples, channels = x.shape[:3]
    mean = tensors["saveMean" if training else "runningMean"]
    rstd = tensors["saveInvstd"] if training else inverse_deviation(tensors, names)
    given = {
        "input": by_channel(x),
        "gradOut": by_channel(dy),
        "mean": mean,
        "rstd": rstd,
        "gamma": tensors["weight"],
    }
    sizes = {"N": 1, "C": channels, "group": max(channels, 1), "HxW": samples * prod(x.shape[3:])}
    if training:
        names_of = {OUTPUTS[name]: name for name in wanted}
        gradients = group_norm.computed(given, sizes, names_of, copies)
        found = {names_of[name]: array for name, array in gradients.items()}
    else:
        found = fixed(group_norm.positive(given, copies) if copies.absolute else given)
    if "gradInput" in wanted:
        shape = copies.number * batch, channels, samples, *x.shape[3:]
        moved = found["gradInput"].reshape(shape)
        found["gradInput"] = np.ascontiguousarray(np.moveaxis(moved, 1, 2))
    return {name: found[name] for name in wanted}


golden, magnitude, both = functions(computed)
STATISTICS = ("saveMean", "saveInvstd")


def saved(tensors: Tensors, names: Mapping[str, int]) -> Outputs:
    """The mean and rstd of each channel, as far as they are asked for."""
    (x,) = present(tensors, "input")
    rows = by_channel(x)
    channels = dict.fromkeys(("saveMean", "saveInvstd"), np.empty(rows.shape[:2]))
    of = statistics(rows, channels, *channels)
    given = {name: tensors.get(name) for name in of}
    return {name: of[name][:, : a.shape[1]] for name, a in given.items() if a is not None}


def by_channel(array: Array) -> Array:
    """(B, N, C, ...) to (B, C, elements of a channel)."""
    batch, samples, channels = array.shape[:3]
    size = samples * prod(array.shape[3:])
    return np.ascontiguousarray(np.moveaxis(array, 1, 2)).reshape(batch, channels, size)


def inverse_deviation(tensors: Tensors, names: Mapping[str, int]) -> Array:
    """What gradients are multiplied by outside of training: (B, C)."""
    (variance,) = present(tensors, "runningVar")
    result: Array = 1 / np.sqrt(variance + names["eps"])
    return result


def fixed(given: Tensors) -> Outputs:
    """The gradients where the statistics, (B, C), are constants; x and dy are (B, C, elements)."""
    x, dy, mean, rstd = (given[name] for name in ("input", "gradOut", "mean", "rstd"))
    assert x is not None and dy is not None and mean is not None and rstd is not None
    gamma = 1.0 if given["gamma"] is None else given["gamma"]
    return {
        "gradInput": dy * (rstd * gamma)[..., None],
        "gradWeight": total(dy * (x - mean[..., None]), 2)[..., 0] * rstd,
        "gradBias": total(dy, 2)[..., 0],
    }


def gain(tensors: Tensors, names: Mapping[str, int]) -> float:
    """The largest factor of the results, but for weight; at least 1."""
    rstd = tensors["saveInvstd"] if names["training"] else inverse_deviation(tensors, names)
    return max(1.0, float(np.abs(rstd).max())) if rstd is not None and rstd.size else 1.0


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The terms of the longest sum, the roundings of terms and of what follows, and those of the
    factor that a device computes itself.
    """
    shape = shapes["input"]
    terms, root = shape[0] * prod(shape[2:]), 0 if names["training"] else ROOT
    if output == "gradBias":
        return terms
    if output == "gradWeight":
        return terms + 3 + root
    return terms + 10 if names["training"] else 2 + root
