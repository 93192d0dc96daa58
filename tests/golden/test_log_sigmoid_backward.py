"""The gradient of the logarithm of the sigmoid against mpmath, torch and devices with other
formulas.
"""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.log_sigmoid_backward import golden
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    against_mpmath,
    arguments,
    assert_correct_devices_stay_inside,
    gradients,
    tight,
)

OP = "log_sigmoid_backward"


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    return {"gradOutput": gradients(random, dtype), "self": arguments(random, dtype)}


def page(of: Arrays) -> np.ndarray:
    return of["gradOutput"] * (1 / (1 + np.exp(of["self"])))


def quotient(of: Arrays) -> np.ndarray:
    return of["gradOutput"] / (1 + np.exp(of["self"]))


def small_exponents(of: Arrays) -> np.ndarray:
    x = of["self"]
    z = np.exp(-np.abs(x))
    return of["gradOutput"] * np.where(x < 0, 1 - z / (1 + z), z / (1 + z))


def test_correct_devices_stay_inside_the_bound() -> None:
    devices = {"page": page, "quotient": quotient, "small exponents": small_exponents}
    assert_correct_devices_stay_inside(OP, devices, inputs)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda of: page({**of, "self": of["self"] * np.float32(1.0005)}),
        lambda of: of["gradOutput"] / (1 + np.exp(-of["self"])),
        lambda of: of["gradOutput"] * (1 - 1 / (1 + np.exp(-of["self"]))),
    ],
    ids=["argument", "sigmoid", "cancelling"],
)
def test_a_wrong_device_does_not(wrong: object) -> None:
    with pytest.raises(AssertionError):
        assert_correct_devices_stay_inside(OP, {"wrong": wrong}, inputs)


@pytest.mark.parametrize("dtype", ["FLOAT16", "BFLOAT16"])
def test_four_units_in_the_last_place_are_too_many(dtype: str) -> None:
    some = inputs(np.random.default_rng(2), dtype)
    assert tight(OP, some, dtype) > 0.99


def test_mpmath() -> None:
    mpmath = pytest.importorskip("mpmath")
    random = np.random.default_rng(3)
    some = {"gradOutput": gradients(random, "FLOAT", 500), "self": arguments(random, "FLOAT", 500)}
    some["self"] = np.clip(some["self"], -700, 700)
    for error, claimed in against_mpmath(OP, some, lambda dy, x: dy / (1 + mpmath.exp(x))):
        assert error <= claimed


def test_torch() -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    dy, x = random.standard_normal((2, 500)), random.standard_normal((2, 500)) * 4
    at = torch.tensor(x, requires_grad=True)
    torch.nn.functional.logsigmoid(at).backward(torch.from_numpy(dy))
    found = golden({"gradOutput": dy, "self": x, "buffer": x}, {}, ["gradInput"])["gradInput"]
    assert np.abs(found - at.grad.numpy()).max() <= 1e-12
