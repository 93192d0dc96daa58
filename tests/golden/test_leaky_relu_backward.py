"""The gradient of the leaky ReLU: 0 and its neighbours, torch, and wrong devices."""

from __future__ import annotations

import numpy as np
import pytest

from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    assert_correct_devices_stay_inside,
    assert_torch_agrees,
    assert_wrong_devices_do_not,
    pair,
)

OP = "leaky_relu_backward"


@pytest.mark.parametrize("slope", [0.01, 0.0, -2.0])
def test_devices(slope: float) -> None:
    names, draw = {"negativeSlope": float(np.float32(slope))}, pair(thresholds=(0.0,))
    factor = np.float32(slope)
    right = {
        "selects": lambda of: np.where(of["self"] > 0, of["gradOutput"], of["gradOutput"] * factor),
        "multiplies": lambda of: of["gradOutput"] * np.where(of["self"] > 0, np.float32(1), factor),
    }
    assert_correct_devices_stay_inside(OP, right, draw, names, "out")
    wrong = {
        "not strict": lambda of: np.where(
            of["self"] >= 0, of["gradOutput"], of["gradOutput"] * factor
        ),
        "another slope": lambda of: np.where(
            of["self"] > 0, of["gradOutput"], of["gradOutput"] * (factor + np.float32(1e-6))
        ),
    }
    assert_wrong_devices_do_not(OP, wrong, draw, names, "out")


@pytest.mark.parametrize("result", [False, True])
def test_torch(result: bool) -> None:
    torch = torch_or_skip()
    assert_torch_agrees(
        OP,
        lambda g, x: torch.ops.aten.leaky_relu_backward(g, x, 0.01, result),
        {"negativeSlope": 0.01},
        "out",
        thresholds=(0.0,),
        shapes=((5,), (3, 1)),
    )
