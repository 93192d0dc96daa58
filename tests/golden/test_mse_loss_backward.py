"""The gradient of the mean squared error: torch, and devices in float32."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.mse_loss_backward import golden
from opgen.numerics.rounding import stored
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    COUNT,
    Arrays,
    arguments,
    assert_correct_devices_stay_inside,
    assert_wrong_devices_do_not,
    gradients,
)

OP = "mse_loss_backward"
each = pytest.mark.parametrize("reduction", [0, 1, 2])


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    x, y = arguments(random, dtype), arguments(random, dtype)
    y[::5] = x[::5] * (1 + 2.0**-7 * np.sign(x[::5]))  # where the difference cancels
    y = stored(y, dtype).astype(np.float64)
    return {"gradOutput": gradients(random, dtype), "self": x, "target": y}


def page(of: Arrays, reduction: int) -> np.ndarray:
    total = of["gradOutput"] * (of["self"] - of["target"]) * np.float32(2)
    return total / np.float32(COUNT) if reduction == 1 else total


def by_factor(of: Arrays, reduction: int) -> np.ndarray:
    factor = np.float32(2 / COUNT if reduction == 1 else 2)
    return factor * (of["self"] - of["target"]) * of["gradOutput"]


@each
def test_devices(reduction: int) -> None:
    names = {"reduction": reduction}
    right = {"page": lambda of: page(of, reduction), "factor": lambda of: by_factor(of, reduction)}
    assert_correct_devices_stay_inside(OP, right, inputs, names, "out")
    wrong = {
        "the other reduction": lambda of: page(of, 1 if reduction != 1 else 2),
        "turned": lambda of: -page(of, reduction),
        "no factor": lambda of: page(of, reduction) / 2,
    }
    assert_wrong_devices_do_not(OP, wrong, inputs, names, "out")


@each
@pytest.mark.parametrize("grad", [(3, 5), ()])
def test_torch(reduction: int, grad: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    g = random.standard_normal((2, *grad))
    x, y = random.standard_normal((2, 2, 3, 5))
    found = golden({"gradOutput": g, "self": x, "target": y}, {"reduction": reduction}, ["out"])
    for case in range(2):
        some = (torch.tensor(a[case]) for a in (g, x, y))
        right = torch.ops.aten.mse_loss_backward(*some, reduction).numpy()
        assert np.abs(found["out"][case] - right).max() <= 1e-12


def test_a_mean_counts_the_elements_of_self() -> None:
    """Also where self is broadcast."""
    g, x, y = np.ones((1, 1)), np.zeros((1, 3)), np.full((1, 2, 3), -1.5)
    found = golden({"gradOutput": g, "self": x, "target": y}, {"reduction": 1}, ["out"])["out"]
    assert found.shape == (1, 2, 3) and (found == 1.0).all()
