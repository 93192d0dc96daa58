"""The gradient of the divergence of Kullback and Leibler: torch, and devices in float32."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from opgen.golden.kl_div_backward import golden
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    arguments,
    assert_correct_devices_stay_inside,
    assert_wrong_devices_do_not,
    gradients,
)
from tests.golden.losses import assert_torch_agrees, reducing

OP = "kl_div_backward"
each = pytest.mark.parametrize(("reduction", "log"), [(0, False), (1, True), (2, False), (3, True)])


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    x, y = arguments(random, dtype), np.abs(arguments(random, dtype))
    return {"gradOutput": gradients(random, dtype), "self": x, "target": y}


def term(of: Arrays, log: bool) -> np.ndarray:
    return -of["gradOutput"] * (np.exp(of["target"]) if log else of["target"])


@pytest.mark.parametrize(("reduction", "log"), [(0, False), (1, True), (2, True)])
def test_devices(reduction: int, log: bool) -> None:
    names = {"reduction": reduction, "logTarget": log}
    right = reducing(partial(term, log=log), reduction)
    assert_correct_devices_stay_inside(OP, {"right": right}, inputs, names, "out")
    wrong = {
        "the other reduction": reducing(partial(term, log=log), 2 if reduction == 1 else 1),
        "turned": lambda of: -right(of),
        "the other target": reducing(partial(term, log=not log), reduction),
    }
    assert_wrong_devices_do_not(OP, wrong, inputs, names, "out")


@each
@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("target", [(4, 5), (5,), (1,)])
def test_torch(reduction: int, log: bool, target: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    grad = () if reduction else (4, 5)

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return random.uniform(0.1, 2, shape)

    loss = partial(torch.nn.functional.kl_div, log_target=log)
    shapes = (grad, (4, 5), target)
    assert_torch_agrees(OP, "out", loss, draw, *shapes, reduction=reduction, logTarget=log)


def test_a_gradient_of_all_elements_is_spread() -> None:
    x = np.zeros((1, 2, 3))
    found = golden(
        {"gradOutput": np.ones((1, 1)), "self": x, "target": np.full((1, 1), 6.0)},
        {"reduction": 3, "logTarget": False},
        ["out"],
    )["out"]
    assert found.shape == x.shape and (found == -3.0).all()
