"""Calls of some operators, computed as a suite's are, from the recipe to the bounds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from opgen.generation import computing
from opgen.model import TensorDesc
from opgen.numerics.arrays import Array
from opgen.suite.batch import Batch

CALLS: dict[str, tuple[dict[str, int], dict[str, tuple[int, ...]], dict[str, str]]] = {
    "avg_pool2d_backward": (
        {"Hin": 6, "Win": 7, "Hout": 5, "Wout": 3, "kH": 2, "kW": 3, "sH": 1, "sW": 2}
        | {"padH": 0, "padW": 0, "divisorOverride": 0, "countIncludePad": 1},
        {"gradOutput": (2, 5, 3), "self": (2, 6, 7), "gradInput": (2, 6, 7)},
        {"gradOutput": "gradient"},
    ),
    "convolution_backward": (
        {"transposed": 0, "groups": 1, "sW": 2, "dW": 1, "padLeft": 1},
        {
            **{"gradOutput": (2, 3, 5), "input": (2, 2, 9), "weight": (3, 2, 3)},
            **{"gradInput": (2, 2, 9), "gradWeight": (3, 2, 3)},
        },
        {"gradOutput": "gradient", "input": "operand", "weight": "operand"},
    ),
    "group_norm_backward": (
        {"N": 2, "C": 4, "HxW": 5, "group": 2},
        {
            **{"gradOut": (2, 4, 5), "input": (2, 4, 5), "mean": (2, 2), "rstd": (2, 2)},
            **{"gamma": (4,), "gradInput": (2, 4, 5), "gradGammaOut": (4,), "gradBetaOut": (4,)},
        },
        {"gradOut": "gradient", "input": "operand", "mean": "centre", "rstd": "scale"}
        | {"gamma": "operand"},
    ),
    "fast_gelu_backward": (
        {},
        {"gradOutput": (3, 50), "self": (3, 50), "gradInput": (3, 50)},
        {"gradOutput": "gradient", "self": "argument"},
    ),
    "layer_norm_backward": (
        {"R1": 4, "R2": 5},
        {
            **{"gradOut": (2, 4, 5), "input": (2, 4, 5), "mean": (2, 1, 1), "rstd": (2, 1, 1)},
            **{"weightOptional": (4, 5), "biasOptional": (4, 5)},
            **{"gradInputOut": (2, 4, 5), "gradWeightOut": (4, 5), "gradBiasOut": (4, 5)},
        },
        {"gradOut": "gradient", "input": "operand", "mean": "centre", "rstd": "scale"}
        | {"weightOptional": "operand", "biasOptional": "operand"},
    ),
    "sigmoid_backward": (
        {},
        {"gradOutput": (3, 1, 7), "output": (5, 7), "gradInput": (3, 5, 7)},
        {"gradOutput": "gradient", "output": "operand"},
    ),
    "softmax_backward": (
        {"dim": -1},
        {"gradOutput": (3, 50), "output": (3, 50), "out": (3, 50)},
        {"gradOutput": "gradient", "output": "operand"},
    ),
    "tanh_backward": (
        {},
        {"gradOutput": (3, 50), "output": (3, 50), "gradInput": (3, 50)},
        {"gradOutput": "gradient", "output": "operand"},
    ),
}
"""Operator -> the names, shapes and roles of a call that is computed from its recipe to its bounds;
what has no role is an output."""


MODES = [("FLOAT16", "FLOAT16"), ("FLOAT", "FLOAT"), ("FLOAT", "HFLOAT32"), ("FLOAT", "FLOAT16")]
"""Dtype and compute dtype of these calls."""


def computed(op: str, recipe: str) -> Iterator[Array]:
    """Inputs, goldens and bounds of a call, in every mode."""
    names, shapes, roles = CALLS[op]
    inputs = tuple(name for name in shapes if name in roles)
    outputs = tuple(name for name in shapes if name not in roles and name != "self")
    for (dtype, compute), optional in product(MODES, [False, True]):
        batch = Batch(
            op=op,
            rows=np.arange(2),
            ids=("first", "second"),
            tensors={name: TensorDesc(shape, dtype) for name, shape in shapes.items()},
            elements=sum(int(np.prod(shape)) for shape in shapes.values()),
            inputs=inputs,
            names=names,
            wanted=outputs,
            exact=frozenset(outputs[1:] if optional else ()),
            compute=compute,
            optional=optional,
            recipe=recipe,
            roles=roles,
            gradient=inputs[0],
            factors=len(inputs),
        )
        arrays = computing.compute([batch], 0)[0]
        for key in sorted(arrays):
            yield arrays[key].view(np.uint8) if key[1] == "input" else arrays[key]
