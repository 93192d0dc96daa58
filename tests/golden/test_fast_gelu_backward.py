"""The gradient of the fast GELU against mpmath, torch and devices with other formulas."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.fast_gelu_backward import golden
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    against_mpmath,
    arguments,
    assert_correct_devices_stay_inside,
    gradients,
    tight,
)

OP = "fast_gelu_backward"


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    return {"gradOutput": gradients(random, dtype), "self": arguments(random, dtype)}


def everyday(random: np.random.Generator, dtype: str) -> Arrays:
    x = np.clip(random.standard_normal(20_000), -3, 3).astype(np.float16).astype(np.float64)
    return {"gradOutput": np.ones(len(x)), "self": x}


def page(of: Arrays) -> np.ndarray:
    x = np.float32(-1.702) * of["self"]
    s = 1 / (np.exp(x) + 1)
    return of["gradOutput"] * ((s - 1) * x + 1) * s


def product_rule(of: Arrays) -> np.ndarray:
    x, t = of["self"], np.float32(1.702) * of["self"]
    s = 1 / (1 + np.exp(-t))
    return of["gradOutput"] * (s + x * (np.float32(1.702) * s * (1 - s)))


def small_exponents(of: Arrays) -> np.ndarray:
    """No exponential exceeds 1: as published kernels have it."""
    t = np.float32(1.702) * of["self"]
    e = np.exp(-np.abs(t))
    return of["gradOutput"] * ((e + t * e + np.exp(t - np.abs(t))) / ((e + 1) * (e + 1)))


def test_correct_devices_stay_inside_the_bound() -> None:
    devices = {"page": page, "product rule": product_rule, "small exponents": small_exponents}
    assert_correct_devices_stay_inside(OP, devices, inputs)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda of: page({**of, "self": of["self"] * np.float32(1.0005)}),
        lambda of: page(of) + np.float32(2.0**-20),
        lambda of: of["gradOutput"] / (1 + np.exp(np.float32(-1.702) * of["self"])),
    ],
)
def test_a_wrong_device_does_not(wrong: object) -> None:
    with pytest.raises(AssertionError):
        assert_correct_devices_stay_inside(OP, {"wrong": wrong}, inputs)


@pytest.mark.parametrize("dtype", ["FLOAT16", "BFLOAT16"])
def test_four_units_in_the_last_place_are_too_many(dtype: str) -> None:
    assert tight(OP, everyday(np.random.default_rng(2), dtype), dtype) > 0.99


def test_mpmath() -> None:
    mpmath = pytest.importorskip("mpmath")

    def exact(dy: object, x: object) -> object:
        c = mpmath.mpf(1.702)
        s = 1 / (1 + mpmath.exp(-c * x))
        return dy * s * (1 + c * x * (1 - s))

    random = np.random.default_rng(3)
    some = {
        "gradOutput": gradients(random, "FLOAT", 1000),
        "self": arguments(random, "FLOAT", 1000),
    }
    for error, claimed in against_mpmath(OP, some, exact):
        assert error <= claimed


def test_torch() -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    dy, x = random.standard_normal((2, 500)), random.standard_normal((2, 500)) * 4
    at = torch.tensor(x, requires_grad=True)
    (at * torch.sigmoid(1.702 * at)).backward(torch.from_numpy(dy))
    found = golden({"gradOutput": dy, "self": x}, {}, ["gradInput"])["gradInput"]
    assert np.abs(found - at.grad.numpy()).max() <= 1e-12
