"""The gradient of the binary cross entropy of logits: torch, mpmath, and devices in float32."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.numerics.rounding import stored
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    COUNT,
    Arrays,
    against_mpmath,
    arguments,
    assert_correct_devices_stay_inside,
    assert_wrong_devices_do_not,
    gradients,
)
from tests.golden.losses import assert_torch_agrees, reducing, wrong

OP = "binary_cross_entropy_with_logits_backward"
each = pytest.mark.parametrize("reduction", [0, 1, 2])


def inputs(random: np.random.Generator, dtype: str, count: int = COUNT) -> Arrays:
    y, w, p = (stored(random.uniform(0, 1, count), dtype).astype(np.float64) for _ in range(3))
    y[::3], y[1::3] = 0, 1
    of = {"gradOutput": gradients(random, dtype, count), "self": arguments(random, dtype, count)}
    return {**of, "target": y, "weightOptional": w, "posWeightOptional": 4 * p}


def by_sigmoid(of: Arrays) -> np.ndarray:
    y, positive = of["target"], of["target"] * of["posWeightOptional"]
    s = 1 / (1 + np.exp(-of["self"]))
    return of["gradOutput"] * of["weightOptional"] * ((positive + 1 - y) * s - positive)


def by_logarithm(of: Arrays) -> np.ndarray:
    y, rest = of["target"], 1 / (1 + np.exp(of["self"]))
    slope = (1 - y) - ((of["posWeightOptional"] - 1) * y + 1) * rest
    return slope * of["gradOutput"] * of["weightOptional"]


@each
def test_devices(reduction: int) -> None:
    names = {"reduction": reduction}
    right = {
        "sigmoid": reducing(by_sigmoid, reduction),
        "logarithm": reducing(by_logarithm, reduction),
    }
    assert_correct_devices_stay_inside(OP, right, inputs, names, "out")
    others = {
        f"no {name}": reducing(lambda of, n=name: by_sigmoid({**of, n: np.float32(1)}), reduction)
        for name in ("weightOptional", "posWeightOptional")
    }
    assert_wrong_devices_do_not(OP, wrong(by_sigmoid, reduction) | others, inputs, names, "out")


def test_mpmath() -> None:
    mpmath = pytest.importorskip("mpmath")
    some = inputs(np.random.default_rng(3), "FLOAT", 300)
    some["self"] = np.clip(some["self"], -80, 80)

    def exact(g: object, x: object, y: object, w: object, p: object) -> object:
        s = 1 / (1 + mpmath.exp(-x))
        return g * w * ((p * y + 1 - y) * s - p * y)

    for error, claimed in against_mpmath(OP, some, exact, {"reduction": 0}, "out"):
        assert error <= claimed


@each
@pytest.mark.parametrize(("weight", "positive"), [((), ()), ((5,), (4, 5)), ((4, 1), (5,))])
def test_torch(reduction: int, weight: tuple[int, ...], positive: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    grad = () if reduction else (4, 5)

    def loss(x: object, y: object, w: object, p: object, reduction: str) -> object:
        logits = torch.nn.functional.binary_cross_entropy_with_logits
        return logits(x, y, weight=w, pos_weight=p, reduction=reduction)

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.uniform(0, 1, shape)

    shapes = (grad, (4, 5), (4, 5), weight, positive)
    assert_torch_agrees(OP, "out", loss, draw, *shapes, reduction=reduction)
