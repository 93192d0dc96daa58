"""The gradient of the mean absolute error: torch, and devices in float32."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.l1_loss_backward import both
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    arguments,
    assert_correct_devices_stay_inside,
    assert_wrong_devices_do_not,
    gradients,
)
from tests.golden.losses import assert_torch_agrees, reducing

OP = "l1_loss_backward"
each = pytest.mark.parametrize("reduction", [0, 1, 2])


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    x, y = arguments(random, dtype), arguments(random, dtype)
    y[::5] = x[::5]  # where there is no difference
    return {"gradOutput": gradients(random, dtype), "self": x, "target": y}


def term(of: Arrays) -> np.ndarray:
    return of["gradOutput"] * np.sign(of["self"] - of["target"])


@each
def test_devices(reduction: int) -> None:
    names = {"reduction": reduction}
    right = reducing(term, reduction)
    assert_correct_devices_stay_inside(OP, {"right": right}, inputs, names, "gradInput")
    wrong = {
        "the other reduction": reducing(term, 2 if reduction == 1 else 1),
        "turned": lambda of: -right(of),
        "without a zero": reducing(
            lambda of: np.where(of["self"] >= of["target"], of["gradOutput"], -of["gradOutput"]),
            reduction,
        ),
    }
    assert_wrong_devices_do_not(OP, wrong, inputs, names, "gradInput")


@each
@pytest.mark.parametrize(("source", "target"), [((3, 5), (3, 5)), ((5,), (3, 1)), ((3, 5), (1,))])
def test_torch(reduction: int, source: tuple[int, ...], target: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    grad = () if reduction else (3, 5)

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.integers(-2, 3, shape).astype(np.float64)  # equal ones occur

    loss = torch.nn.functional.l1_loss
    assert_torch_agrees(OP, "gradInput", loss, draw, grad, source, target, reduction=reduction)


def test_where_a_device_may_lose_a_difference_any_value_between_passes() -> None:
    x = np.array([[1.0, 2.0**-126, np.nan]])
    y = np.array([[1.0, 1.5 * 2.0**-126, 0.0]])
    given = {"gradOutput": np.full((1, 3), 8.0), "self": x, "target": y}
    golden, size = (of["gradInput"][0] for of in both(given, {"reduction": 0}, ["gradInput"]))
    assert golden[:2].tolist() == [0.0, -8.0]
    assert size[0] * 2.0**-24 < 1e-30 and size[1] * 2.0**-24 >= 8 and np.isinf(size[2])
