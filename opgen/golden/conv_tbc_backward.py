"""The gradients of a convolution over time: of a 1-D convolution whose axes are time, batch and
channels, and whose weight has its taps first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from opgen.golden import Array, Differentiable, ProbeCall, Tensors, present
from opgen.golden import convolution_backward as convolution
from opgen.golden._absolute import Copies, functions
from opgen.golden._convolved import Slid, convolved

VERSION = 1
PARTNERS = convolution.PARTNERS
ORDER = {"self": (1, 2, 0), "input": (1, 2, 0), "weight": (2, 1, 0)}
"""Input -> where the axes of the other convolution are."""
BACK = {"gradInput": (2, 0, 1), "gradWeight": (2, 1, 0), "gradBias": (0,)}
"""Output -> the same the other way."""
PROBES = [
    ProbeCall(
        {"pad": pad},
        {"self": (out, n, outputs), "input": (extent, n, inputs), "weight": (k, inputs, outputs)},
        ("gradInput", "gradWeight", "gradBias"),
    )
    for pad, out, extent, n, inputs, outputs, k in [
        (1, 7, 7, 2, 3, 4, 3),
        (0, 1, 2, 1, 1, 2, 2),
        (2, 60, 60, 3, 24, 16, 5),
    ]
]


def turned(array: Array, order: tuple[int, ...]) -> Array:
    """Cases with their axes in another order, in one piece."""
    return np.ascontiguousarray(array.transpose(0, *(axis + 1 for axis in order)))


def names_of(names: Mapping[str, int]) -> dict[str, int]:
    """What the other convolution calls this one."""
    return {"transposed": 0, "groups": 1, "sW": 1, "dW": 1, "padLeft": names["pad"]}


def computed(
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str], copies: Copies
) -> dict[str, Array]:
    """GradInput (B, Hin, N, Cin), gradWeight (B, K, Cin, Cout) and gradBias (B, Cout)."""
    given = dict(zip(ORDER, present(tensors, *ORDER), strict=True))
    alike = {name: turned(array, ORDER[name]) for name, array in given.items()}
    alike["gradOutput"] = alike.pop("self")
    outputs = convolution.computed(alike, names_of(names), wanted, copies)
    return {name: turned(array, BACK[name]) for name, array in outputs.items()}


golden, magnitude, both = functions(computed)


def depth(names: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], output: str) -> int:
    """The terms of one element's sum."""
    alike = {name: tuple(shapes[name][axis] for axis in order) for name, order in ORDER.items()}
    return convolution.depth(names_of(names), {**alike, "gradOutput": alike["self"]}, output)


def forward(tensors: Tensors, names: Mapping[str, int]) -> dict[str, Array]:
    """The convolution, by its definition."""
    dy, x, w, bias = present(tensors, "self", "input", "weight", "bias")
    axis = Slid(x.shape[1], dy.shape[1], w.shape[1], 1, 1, names["pad"])
    moved = turned(x, ORDER["input"]), turned(w, ORDER["weight"])
    result = convolved(*moved, 1, False, [axis])
    return {"self": turned(result, (2, 0, 1)) + bias[:, None, None, :]}


FORWARD = Differentiable(
    forward, {"gradInput": "input", "gradWeight": "weight", "gradBias": "bias"}
)
