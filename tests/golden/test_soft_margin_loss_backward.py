"""The gradient of the logistic loss of two classes: torch, mpmath, and devices in float32."""

from __future__ import annotations

import numpy as np
import pytest

from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    against_mpmath,
    arguments,
    assert_correct_devices_stay_inside,
    assert_wrong_devices_do_not,
    gradients,
    tight,
)
from tests.golden.losses import assert_torch_agrees, reducing, wrong

OP = "soft_margin_loss_backward"
each = pytest.mark.parametrize("reduction", [0, 1, 2])


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    x = arguments(random, dtype)
    y = random.choice([-1.0, 1.0, 0.5], x.shape)
    return {"gradOutput": gradients(random, dtype), "self": x, "target": y}


def by_quotient(of: Arrays) -> np.ndarray:
    z = np.exp(-of["target"] * of["self"])
    return -of["target"] * z / (1 + z) * of["gradOutput"]


def by_sigmoid(of: Arrays) -> np.ndarray:
    return -of["target"] * of["gradOutput"] / (1 + np.exp(of["target"] * of["self"]))


@each
def test_devices(reduction: int) -> None:
    names = {"reduction": reduction}
    right = {
        "quotient": reducing(by_quotient, reduction),
        "sigmoid": reducing(by_sigmoid, reduction),
    }
    assert_correct_devices_stay_inside(OP, right, inputs, names, "out")
    assert_wrong_devices_do_not(OP, wrong(by_sigmoid, reduction), inputs, names, "out")


def test_four_units_in_the_last_place_are_too_many() -> None:
    x = np.random.default_rng(2).uniform(-4, 4, 20_000).astype(np.float16).astype(np.float64)
    of = {"gradOutput": np.ones(len(x)), "self": x, "target": np.ones(len(x))}
    assert tight(OP, of, "FLOAT16", {"reduction": 0}, "out") > 0.98


def test_mpmath() -> None:
    mpmath = pytest.importorskip("mpmath")
    random = np.random.default_rng(3)
    some = {
        "gradOutput": gradients(random, "FLOAT", 300),
        "self": np.clip(arguments(random, "FLOAT", 300), -80, 80),
        "target": random.choice([-1.0, 1.0], 300),
    }

    def exact(g: object, x: object, y: object) -> object:
        return -y * g / (1 + mpmath.exp(y * x))

    for error, claimed in against_mpmath(OP, some, exact, {"reduction": 0}, "out"):
        assert error <= claimed


@each
@pytest.mark.parametrize(("source", "target"), [((3, 5), (3, 5)), ((5,), (3, 1)), ((3, 5), (1,))])
def test_torch(reduction: int, source: tuple[int, ...], target: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    grad = () if reduction else (3, 5)

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.standard_normal(shape) * 2

    loss = torch.nn.functional.soft_margin_loss
    assert_torch_agrees(OP, "out", loss, draw, grad, source, target, reduction=reduction)
