"""The gradient of hardswish against torch, its thresholds and devices with other formulas."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.hardswish_backward import golden, thresholds
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    arguments,
    assert_correct_devices_stay_inside,
    gradients,
    tight,
)

OP = "hardswish_backward"


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    return {"gradOutput": gradients(random, dtype), "self": arguments(random, dtype)}


def selected(x: np.ndarray, middle: np.ndarray) -> np.ndarray:
    return np.where(x < -3, np.float32(0), np.where(x > 3, np.float32(1), middle))


def page(of: Arrays) -> np.ndarray:
    x = of["self"]
    return of["gradOutput"] * selected(x, x / np.float32(3) + np.float32(0.5))


def by_product(of: Arrays) -> np.ndarray:
    x = of["self"]
    return of["gradOutput"] * selected(x, x * np.float32(1 / 3) + np.float32(0.5))


def by_sixths(of: Arrays) -> np.ndarray:
    x = of["self"]
    return of["gradOutput"] * selected(x, (x + x + np.float32(3)) * np.float32(1 / 6))


def open_at_three(of: Arrays) -> np.ndarray:
    return np.where(of["self"] == 3, of["gradOutput"], page(of))


def test_correct_devices_stay_inside_the_bound() -> None:
    devices = {"page": page, "product": by_product, "sixths": by_sixths}
    assert_correct_devices_stay_inside(OP, devices, inputs, output="out")


@pytest.mark.parametrize(
    "wrong",
    [open_at_three, lambda of: page(of) * np.float32(1 + 2.0**-8), lambda of: of["gradOutput"]],
)
def test_a_wrong_device_does_not(wrong: object) -> None:
    with pytest.raises(AssertionError):
        assert_correct_devices_stay_inside(OP, {"wrong": wrong}, inputs, output="out")


def test_both_thresholds_belong_to_the_middle() -> None:
    x = np.array([[np.nextafter(-3, -4), -3.0, 3.0, np.nextafter(3, 4)]])
    found = golden({"gradOutput": np.ones((1, 4)), "self": x}, {}, ["out"])["out"]
    assert found.tolist() == [[0.0, -0.5, 1.5, 1.0]] and thresholds({}) == (-3.0, 3.0)


@pytest.mark.parametrize(("dtype", "share"), [("FLOAT", 0.4), ("FLOAT16", 0.9), ("BFLOAT16", 0.9)])
def test_four_units_in_the_last_place_are_too_many(dtype: str, share: float) -> None:
    """In FLOAT above the middle, where nothing is divided."""
    random = np.random.default_rng(2)
    x = random.uniform(-1, 6, 20_000).astype(np.float16).astype(np.float64)
    assert tight(OP, {"gradOutput": np.ones(len(x)), "self": x}, dtype, output="out") > share


def test_torch() -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    dy, x = random.standard_normal((2, 500)), random.standard_normal((2, 500)) * 4
    found = golden({"gradOutput": dy, "self": x}, {}, ["out"])["out"]
    expected = torch.ops.aten.hardswish_backward(torch.from_numpy(dy), torch.from_numpy(x))
    assert np.abs(found - expected.numpy()).max() <= 1e-12
