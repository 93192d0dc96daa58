"""The gradient of a clamp: values at its limits and beside them, torch, and wrong devices."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden import kernel
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    assert_correct_devices_stay_inside,
    assert_torch_agrees,
    assert_wrong_devices_do_not,
    expected,
    pair,
)

OP = "hardtanh_backward"
LIMITS = {"min": -0.5, "max": 2.0}
DRAW = pair(thresholds=(-0.5, 2.0))


def inside(of: Arrays, low: float = -0.5, high: float = 2.0) -> np.ndarray:
    return (of["self"] >= np.float32(low)) & (of["self"] <= np.float32(high))


def test_devices() -> None:
    right = {
        "selects": lambda of: np.where(inside(of), of["gradOutput"], 0),
        "multiplies": lambda of: of["gradOutput"] * inside(of).astype(np.float32),
    }
    assert_correct_devices_stay_inside(OP, right, DRAW, LIMITS, "out")
    wrong = {
        "open": lambda of: np.where(
            (of["self"] > -0.5) & (of["self"] < 2), of["gradOutput"], np.float32(0)
        ),
        "below alone": lambda of: np.where(of["self"] <= 2, of["gradOutput"], 0),
        "above alone": lambda of: np.where(of["self"] >= -0.5, of["gradOutput"], 0),
    }
    assert_wrong_devices_do_not(OP, wrong, DRAW, LIMITS, "out")


@pytest.mark.parametrize(("low", "high"), [(1.0, -1.0), (0.5, 0.5), (-np.inf, np.inf)])
def test_any_two_limits(low: float, high: float) -> None:
    x = np.array([-2.0, 0.5, 1.0, 2.0])
    names = {"min": low, "max": high}
    golden, _ = expected(OP, {"gradOutput": np.ones(4), "self": x}, names, "out", "FLOAT")
    assert golden.tolist() == [float(low <= value <= high) for value in x]
    assert kernel(OP).thresholds(names) == (low, high)


@pytest.mark.parametrize(("low", "high"), [(np.nan, 1.0), (-1.0, np.nan), (np.nan, np.nan)])
def test_no_number_is_beyond_a_nan(low: float, high: float) -> None:
    """Line 36: a slope is 1 where neither of two comparisons holds. Torch agrees of one number,
    and not of many at a time: either is right.
    """
    torch = torch_or_skip()
    x = np.array([-2.0, 0.5, 2.0, np.nan] * 10)
    inputs = {"gradOutput": np.arange(1.0, 41), "self": x}
    golden, limit = expected(OP, inputs, {"min": low, "max": high}, "out", "FLOAT")
    assert golden.tolist() == [
        0.0 if value < low or value > high else g
        for g, value in zip(inputs["gradOutput"], x, strict=True)
    ]
    gradient, there = (torch.from_numpy(array.astype(np.float32)) for array in inputs.values())
    theirs = torch.ops.aten.hardtanh_backward
    pairs = gradient.split(1), there.split(1)
    few = torch.cat([theirs(g, x, low, high) for g, x in zip(*pairs, strict=True)])
    assert few.tolist() == golden.tolist()
    for answer in (few, theirs(gradient, there, low, high)):
        assert (np.abs(answer.numpy() - golden) <= limit).all()
    assert (np.abs(-golden - golden) > limit)[golden > 0].all()


def test_of_infinite_gradients_a_device_may_make_anything_outside() -> None:
    inputs = {"gradOutput": np.array([np.inf, np.inf]), "self": np.array([0.0, 3.0])}
    _, limit = expected(OP, inputs, LIMITS, "out", "FLOAT")
    assert limit.tolist() == [0.0, np.inf]


def test_torch() -> None:
    """But at the limits, where torch lets nothing pass."""
    torch = torch_or_skip()
    assert_torch_agrees(
        OP, lambda g, x: torch.ops.aten.hardtanh_backward(g, x, -0.5, 2.0), LIMITS, "out"
    )
