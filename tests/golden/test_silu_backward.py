"""The gradient of SiLU against mpmath, torch and devices with other formulas."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.silu_backward import golden
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    against_mpmath,
    arguments,
    assert_correct_devices_stay_inside,
    gradients,
    tight,
)

OP = "silu_backward"


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    return {"gradOutput": gradients(random, dtype), "self": arguments(random, dtype)}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def page(of: Arrays) -> np.ndarray:
    x, s = of["self"], sigmoid(of["self"])
    return of["gradOutput"] * (s * (1 + x - x * s))


def in_turn(of: Arrays) -> np.ndarray:
    x, s = of["self"], sigmoid(of["self"])
    return of["gradOutput"] * s * (1 + x * (1 - s))


def product_rule(of: Arrays) -> np.ndarray:
    x, s = of["self"], sigmoid(of["self"])
    return of["gradOutput"] * (s + x * s * (1 - s))


def test_correct_devices_stay_inside_the_bound() -> None:
    devices = {"page": page, "in turn": in_turn, "product rule": product_rule}
    assert_correct_devices_stay_inside(OP, devices, inputs)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda of: page({**of, "self": of["self"] * np.float32(1.0005)}),
        lambda of: of["gradOutput"] * sigmoid(of["self"]),
        lambda of: page(of) + np.float32(2.0**-20),
    ],
    ids=["argument", "sigmoid", "shifted"],
)
def test_a_wrong_device_does_not(wrong: object) -> None:
    with pytest.raises(AssertionError):
        assert_correct_devices_stay_inside(OP, {"wrong": wrong}, inputs)


@pytest.mark.parametrize("dtype", ["FLOAT16", "BFLOAT16"])
def test_four_units_in_the_last_place_are_too_many(dtype: str) -> None:
    x = np.random.default_rng(2).uniform(-4, 8, 20_000).astype(np.float16).astype(np.float64)
    assert tight(OP, {"gradOutput": np.ones(len(x)), "self": x}, dtype) > 0.98


def test_mpmath() -> None:
    mpmath = pytest.importorskip("mpmath")

    def exact(dy: object, x: object) -> object:
        s = 1 / (1 + mpmath.exp(-x))
        return dy * s * (1 + x * (1 - s))

    random = np.random.default_rng(3)
    some = {"gradOutput": gradients(random, "FLOAT", 500), "self": arguments(random, "FLOAT", 500)}
    some["self"] = np.clip(some["self"], -700, 700)
    for error, claimed in against_mpmath(OP, some, exact):
        assert error <= claimed


@pytest.mark.parametrize(
    ("grad", "source"), [((3, 5), (3, 5)), ((5,), (3, 1)), ((2, 1, 5), (3, 1))]
)
def test_torch(grad: tuple[int, ...], source: tuple[int, ...]) -> None:
    """With shapes that broadcast, too: the result has the shape of both."""
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    dy, x = random.standard_normal((2, *grad)), random.standard_normal((2, *source)) * 4
    found = golden({"gradOutput": dy, "self": x}, {}, ["gradInput"])["gradInput"]
    for case in range(2):
        at = torch.tensor(np.broadcast_to(x[case], found.shape[1:]).copy(), requires_grad=True)
        torch.nn.functional.silu(at).backward(
            torch.from_numpy(np.broadcast_to(dy[case], at.shape).copy())
        )
        assert np.abs(found[case] - at.grad.numpy()).max() <= 1e-12
