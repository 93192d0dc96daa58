"""The gradient of ELU, of its input and of its result: torch, mpmath, and devices in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    against_mpmath,
    arguments,
    assert_correct_devices_stay_inside,
    assert_torch_agrees,
    assert_wrong_devices_do_not,
    gradients,
    pair,
)

OP = "elu_backward"
NAMES = {"alpha": 1.5, "scale": 1.25, "inputScale": 0.75}
DRAW = pair("selfOrResult", thresholds=(0.0,))
each = pytest.mark.parametrize("result", [False, True])


def slope(x: np.ndarray, result: bool, at_zero: bool = False) -> np.ndarray:
    low, inner = np.float32(1.5 * 1.25), np.float32(0.75)
    below = inner * (x + low) if result else inner * low * np.exp(x * inner)
    return np.where(x >= 0 if at_zero else x > 0, np.float32(1.25), below)


def in_turn(of: Arrays, result: bool) -> np.ndarray:
    g, x = of["gradOutput"], of["selfOrResult"]
    below = x + np.float32(1.875) if result else np.exp(x * np.float32(0.75)) * np.float32(1.875)
    return np.where(x > 0, g * np.float32(1.25), g * np.float32(0.75) * below)


@each
def test_devices(result: bool) -> None:
    names = {**NAMES, "isResult": result}
    right = {
        "page": lambda of: of["gradOutput"] * slope(of["selfOrResult"], result),
        "in turn": lambda of: in_turn(of, result),
    }
    assert_correct_devices_stay_inside(OP, right, DRAW, names)
    wrong = {
        "the other": lambda of: of["gradOutput"] * slope(of["selfOrResult"], not result),
        "0 above": lambda of: of["gradOutput"] * slope(of["selfOrResult"], result, at_zero=True),
        "rounded": lambda of: in_turn(of, result) * np.float32(1.00001),
    }
    assert_wrong_devices_do_not(OP, wrong, DRAW, names)


@each
def test_torch(result: bool) -> None:
    torch = torch_or_skip()
    assert_torch_agrees(
        OP,
        lambda g, x: torch.ops.aten.elu_backward(g, 1.5, 1.25, 0.75, result, x),
        {**NAMES, "isResult": result},
        at="selfOrResult",
        thresholds=(0.0,),
    )


def test_mpmath() -> None:
    mpmath = pytest.importorskip("mpmath")

    def exact(g: Any, x: Any) -> Any:
        return g * (1.25 if x > 0 else mpmath.mpf(0.75) * 1.875 * mpmath.exp(x * 0.75))

    random = np.random.default_rng(3)
    x = np.clip(arguments(random, "FLOAT", 500), -700, 700)
    some = {"gradOutput": gradients(random, "FLOAT", 500), "selfOrResult": x}
    for error, claimed in against_mpmath(OP, some, exact, {**NAMES, "isResult": False}):
        assert error <= claimed
