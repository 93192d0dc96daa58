"""The gradient of SELU from its result: torch, finite differences, and devices in float32."""

from __future__ import annotations

import numpy as np

from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    assert_correct_devices_stay_inside,
    assert_torch_agrees,
    assert_wrong_devices_do_not,
    expected,
    pair,
)

OP = "selu_backward"
ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
DRAW = pair("result")


def page(of: Arrays, scale: float = SCALE) -> np.ndarray:
    y = of["result"]
    below = y + np.float32(scale * ALPHA)
    return of["gradOutput"] * np.where(y > 0, np.float32(scale), below)


def test_devices() -> None:
    right = {
        "at 0 as above": lambda of: np.where(
            of["result"] == 0, of["gradOutput"] * np.float32(SCALE), page(of)
        ),
        "page": page,
    }
    assert_correct_devices_stay_inside(OP, right, DRAW)
    wrong = {
        "no scale": lambda of: page(of, 1.0),
        "of the input": lambda of: (
            of["gradOutput"]
            * np.where(of["result"] > 0, SCALE, SCALE * ALPHA * np.exp(of["result"]))
        ),
    }
    assert_wrong_devices_do_not(OP, wrong, DRAW)


def test_at_zero_both_slopes_are_right_and_nothing_beyond_them() -> None:
    inputs = {"gradOutput": np.ones(2), "result": np.array([0.0, -0.0])}
    golden, limit = expected(OP, inputs, {}, "gradInput", "FLOAT")
    for slope in (SCALE, SCALE * ALPHA):
        assert (np.abs(golden - slope) <= limit).all()
    assert (np.abs(golden - SCALE * ALPHA * 1.001) > limit).all()


def test_torch() -> None:
    torch = torch_or_skip()
    assert_torch_agrees(
        OP, lambda g, y: torch.ops.aten.elu_backward(g, ALPHA, SCALE, 1.0, True, y), at="result"
    )


def test_the_forward() -> None:
    """Of what SELU gives for x, the derivative at x by finite differences."""
    x = np.array([-4.0, -1.0, -0.25, 0.5, 3.0])

    def selu(x: np.ndarray) -> np.ndarray:
        return SCALE * np.where(x > 0, x, ALPHA * np.expm1(x))

    inputs = {"gradOutput": np.ones(5), "result": selu(x)}
    golden, _ = expected(OP, inputs, {}, "gradInput", "DOUBLE")
    assert np.allclose(golden, (selu(x + 1e-6) - selu(x - 1e-6)) / 2e-6, rtol=1e-8)
