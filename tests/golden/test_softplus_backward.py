"""The gradient of softplus: its threshold, torch, mpmath, and devices in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opgen.golden import kernel
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    against_mpmath,
    arguments,
    assert_correct_devices_stay_inside,
    assert_torch_agrees,
    assert_wrong_devices_do_not,
    expected,
    gradients,
    pair,
)

OP = "softplus_backward"
CURVES = pytest.mark.parametrize(("beta", "threshold"), [(1.0, 20.0), (2.0, 1.0), (-1.0, 3.0)])


def page(of: Arrays, beta: float, threshold: float) -> np.ndarray:
    z = of["self"] * np.float32(beta)
    return of["gradOutput"] * np.where(
        z > np.float32(threshold), np.float32(1), 1 / (1 + np.exp(-z))
    )


def quotient(of: Arrays, beta: float, threshold: float) -> np.ndarray:
    z = of["self"] * np.float32(beta)
    e = np.exp(np.minimum(z, np.float32(80)))
    return np.where(z > np.float32(threshold), of["gradOutput"], of["gradOutput"] * (e / (e + 1)))


@CURVES
def test_devices(beta: float, threshold: float) -> None:
    names = {"beta": beta, "threshold": threshold}
    draw = pair(thresholds=kernel(OP).thresholds(names))
    right = {"page": lambda of: page(of, **names), "quotient": lambda of: quotient(of, **names)}
    assert_correct_devices_stay_inside(OP, right, draw, names)
    wrong = {
        "no beta": lambda of: page(of, 1.5 * beta, threshold),
        "slope 1 below": lambda of: of["gradOutput"],
        "argument": lambda of: page({**of, "self": of["self"] * np.float32(1.001)}, **names),
    }
    assert_wrong_devices_do_not(OP, wrong, draw, names)


def test_the_threshold_belongs_to_the_sigmoid() -> None:
    names = {"beta": 2.0, "threshold": 1.0}
    x = np.array([0.5, np.nextafter(np.float32(0.5), np.float32(1))], dtype=np.float64)
    golden, limit = expected(OP, {"gradOutput": np.ones(2), "self": x}, names, "gradInput", "FLOAT")
    assert np.allclose(golden, [1 / (1 + np.exp(-1)), 1.0]) and (limit < 1e-6).all()


def test_a_product_that_is_rounded_across_the_threshold_admits_both() -> None:
    beta = float(np.float32(0.7))
    x = np.float64(np.float32(0.5) / np.float32(0.7)) + np.arange(-2, 3) * 2.0**-24
    golden, limit = expected(
        OP,
        {"gradOutput": np.ones(5), "self": x},
        {"beta": beta, "threshold": 0.5},
        "gradInput",
        "FLOAT",
    )
    single = np.float32(x) * np.float32(beta) <= np.float32(0.5)
    device = np.where(single, 1 / (1 + np.exp(-0.5)), 1.0)
    assert (np.abs(device - golden) <= limit + 1e-6).all()
    assert (single != (x * beta <= 0.5)).any()


@CURVES
def test_torch(beta: float, threshold: float) -> None:
    torch = torch_or_skip()
    names = {"beta": beta, "threshold": threshold}
    assert_torch_agrees(
        OP,
        lambda g, x: torch.ops.aten.softplus_backward(g, x, beta, threshold),
        names,
        thresholds=kernel(OP).thresholds(names),
    )


def test_mpmath() -> None:
    mpmath = pytest.importorskip("mpmath")

    def exact(g: Any, x: Any) -> Any:
        return g if 2 * x > 20 else g / (1 + mpmath.exp(-2 * x))

    random = np.random.default_rng(3)
    x = np.clip(arguments(random, "FLOAT", 500), -300, 300)
    some = {"gradOutput": gradients(random, "FLOAT", 500), "self": x}
    for error, claimed in against_mpmath(OP, some, exact, {"beta": 2.0, "threshold": 20.0}):
        assert error <= claimed
