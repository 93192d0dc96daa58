"""The gradient of the binary cross entropy of probabilities: torch, and devices in float32."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from opgen.golden.binary_cross_entropy_backward import both
from opgen.numerics.rounding import stored
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    COUNT,
    Arrays,
    assert_correct_devices_stay_inside,
    assert_wrong_devices_do_not,
    gradients,
)
from tests.golden.losses import assert_torch_agrees, reducing

OP = "binary_cross_entropy_backward"
each = pytest.mark.parametrize("reduction", [0, 1, 2])


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    x, y, weight = (stored(random.uniform(0, 1, COUNT), dtype).astype(np.float64) for _ in range(3))
    x[:4], y[:4] = [0, 1, 0, 1], [0, 0, 1, 1]
    of = {"gradOutput": gradients(random, dtype), "self": x, "target": y}
    return {**of, "weightOptional": weight}


def term(of: Arrays) -> np.ndarray:
    x = of["self"]
    spread = np.maximum(x * (1 - x), np.float32(1e-12))
    return of["gradOutput"] * of["weightOptional"] * (x - of["target"]) / spread


@each
def test_devices(reduction: int) -> None:
    names = {"reduction": reduction}
    right = reducing(term, reduction)
    assert_correct_devices_stay_inside(OP, {"right": right}, inputs, names, "out")
    wrong = {
        "the other reduction": reducing(term, 2 if reduction == 1 else 1),
        "turned": lambda of: -right(of),
        "no weight": lambda of: right({**of, "weightOptional": np.float32(1)}),
        "no quotient": reducing(
            lambda of: of["gradOutput"] * of["weightOptional"] * (of["self"] - of["target"]),
            reduction,
        ),
    }
    assert_wrong_devices_do_not(OP, wrong, inputs, names, "out")


@each
@pytest.mark.parametrize("weight", [(), (5,), (4, 1)])
def test_torch(reduction: int, weight: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    grad = () if reduction else (4, 5)

    def loss(x: object, y: object, w: object, reduction: str) -> object:
        return torch.nn.functional.binary_cross_entropy(x, y, weight=w, reduction=reduction)

    draw = partial(np.random.Generator.uniform, low=0.1, high=0.9)

    def drawn(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return np.asarray(draw(random, size=shape))

    shapes = (grad, (4, 5), (4, 5), weight)
    assert_torch_agrees(OP, "out", loss, drawn, *shapes, reduction=reduction)


def test_any_value_is_right_where_a_device_may_keep_the_quotient_finite() -> None:
    x = np.array([[0.0, 1.0, 1e-13, 0.5]])
    given = {"gradOutput": np.ones((1, 4)), "self": x, "target": np.full((1, 4), 0.25)}
    golden, size = (of["out"][0] for of in both(given, {"reduction": 0}, ["out"]))
    assert np.isinf(size[:3]).all() and golden[3] == 1.0 and size[3] < 10
