"""The gradient of a threshold: values on it and beside it, torch, and devices with other ideas."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden import kernel
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    assert_correct_devices_stay_inside,
    assert_torch_agrees,
    assert_wrong_devices_do_not,
    expected,
    pair,
)

OP = "threshold_backward"


def selected(of: dict[str, np.ndarray], limit: float = 0.5) -> np.ndarray:
    return np.where(of["self"] > np.float32(limit), of["gradOutput"], np.float32(0))


@pytest.mark.parametrize("threshold", [0.0, 0.5, -1.25, 0.3])
def test_devices(threshold: float) -> None:
    names, draw = {"threshold": threshold}, pair(thresholds=(threshold,))
    right = {"page": lambda of: selected(of, threshold)}
    assert_correct_devices_stay_inside(OP, right, draw, names, "out")
    wrong = {
        "not replaced": lambda of: of["gradOutput"],
        "replaced by the argument": lambda of: np.where(of["self"] > threshold, of["self"], 0),
        "another threshold": lambda of: selected(of, threshold + 0.1),
    }
    assert_wrong_devices_do_not(OP, wrong, draw, names, "out")


def test_a_device_that_is_not_strict_is_wrong() -> None:
    wrong = {"not strict": lambda of: np.where(of["self"] >= 0.5, of["gradOutput"], 0)}
    assert_wrong_devices_do_not(OP, wrong, pair(thresholds=(0.5,)), {"threshold": 0.5}, "out")


def test_a_threshold_that_a_dtype_rounds_admits_both_results_there() -> None:
    """0.3 in FLOAT16 is above 0.3: a device that rounds the threshold does not find it above."""
    near = np.float16([0.2998046875, 0.3, 0.300537109375]).astype(np.float64)
    inputs = {"gradOutput": np.ones(3), "self": near}
    golden, limit = expected(OP, inputs, {"threshold": 0.3}, "out", "FLOAT16")
    assert golden.tolist() == [0.0, 1.0, 1.0]
    assert (np.abs(golden - [0.0, 0.0, 1.0]) <= limit).all()
    assert (limit[[0, 2]] < 0.01).all()
    assert kernel(OP).thresholds({"threshold": 0.3}) == (0.3,)


@pytest.mark.parametrize("shapes", [((4, 50), (4, 50)), ((50,), (4, 1)), ((), (3,))])
def test_torch(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    torch = torch_or_skip()
    assert_torch_agrees(
        OP,
        lambda g, x: torch.ops.aten.threshold_backward(g, x, 0.5),
        {"threshold": 0.5},
        "out",
        thresholds=(0.5,),
        shapes=shapes,
    )
