"""The gradients of layer normalisation, from the supplied mean and rstd.

It is group normalisation with one group, whose channels are the elements of the normalised axes:
every place before these is a sample.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden import group_norm_backward as group_norm
from opgen.golden._absolute import Copies, functions
from opgen.golden._normalized import statistics
from opgen.golden.group_norm_backward import gain

__all__ = ["FORWARD", "PROBES", "VERSION", "both", "depth", "gain", "golden", "magnitude", "saved"]

VERSION = 1
PROBES = [
    ProbeCall(
        {f"R{i}": extent for i, extent in enumerate(axes, 1)},
        {
            "gradOut": (*rows, *axes),
            "input": (*rows, *axes),
            "mean": (*rows, *(1 for _ in axes)),
            "rstd": (*rows, *(1 for _ in axes)),
            "weightOptional": axes if scaled else None,
            "biasOptional": None,
        },
        ("gradInputOut", "gradWeightOut", "gradBiasOut"),
    )
    for rows, axes, scaled in [((2, 3), (5, 7), True), ((4,), (300,), False), ((), (6,), True)]
]
DIFFERENCES = ("gradInputOut", "gradWeightOut")
FACTORS = {"gradBiasOut": ("gradOut",)}
OUTPUTS = {
    "gradInputOut": "gradInput",
    "gradWeightOut": "gradGammaOut",
    "gradBiasOut": "gradBetaOut",
}
INPUTS = {
    "gradOut": "gradOut",
    "input": "input",
    "mean": "mean",
    "rstd": "rstd",
    "gamma": "weightOptional",
}


def normalised(names: Mapping[str, int]) -> tuple[int, ...]:
    """The extents of the normalised axes, [R1, ..., Rj]."""
    return tuple(names[f"R{i}"] for i in range(1, 9) if f"R{i}" in names)


def as_groups(names: Mapping[str, int], shape: tuple[int, ...]) -> dict[str, int]:
    """What group normalisation calls the parts of an input's shape."""
    axes = normalised(names)
    return {"N": prod(shape[: len(shape) - len(axes)]), "C": prod(axes), "HxW": 1, "group": 1}


def by_rows(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]) -> tuple[str, ...]:
    """The first axis, where it is not normalised."""
    whole = len(normalised(names)) == len(shapes["input"])
    return () if whole else ("gradOut", "input", "mean", "rstd", "gradInputOut")


def computed(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], copies: Copies
) -> dict[str, Array]:
    """GradInputOut (B, *input shape), gradWeightOut and gradBiasOut (B, *normalised axes), of all
    copies.
    """
    (x,) = present(tensors, "input")
    groups = as_groups(names, x.shape[1:])
    given = {name: tensors[of] for name, of in INPUTS.items()}
    gradients = group_norm.computed(given, groups, {OUTPUTS[name] for name in wanted}, copies)
    shapes = {"gradInputOut": x.shape[1:]}
    return {
        name: gradients[OUTPUTS[name]].reshape(-1, *shapes.get(name, normalised(names)))
        for name in wanted
    }


golden, magnitude, both = functions(computed)
STATISTICS = ("mean", "rstd")


def saved(tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """The mean and rstd of the normalised axes."""
    (x,) = present(tensors, "input")
    groups = as_groups(names, x.shape[1:])
    return statistics(x.reshape(len(x), groups["N"], groups["C"]), tensors, "mean", "rstd")


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """That of the gradient of group normalisation."""
    return group_norm.depth(as_groups(names, shapes["input"]), shapes, OUTPUTS[output])


def forward(tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """The normalised input, and its mean and rstd."""
    x, weight, bias = present(tensors, "input", "weightOptional", "biasOptional")
    axes = tuple(range(-len(normalised(names)), 0))
    mean, rstd = x.mean(axes, keepdims=True), 1 / x.std(axes, keepdims=True)
    by_row = (len(x), *(1,) * (x.ndim - weight.ndim), *normalised(names))
    unit = (x - mean) * rstd
    result = unit * weight.reshape(by_row) + bias.reshape(by_row)
    return {"gradOut": result, "mean": mean, "rstd": rstd}


FORWARD = Differentiable(
    forward,
    {
        "gradInputOut": "input",
        "gradWeightOut": "weightOptional",
        "gradBiasOut": "biasOptional",
    },
)
