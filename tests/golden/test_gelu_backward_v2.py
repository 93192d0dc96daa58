"""The gradient of GELU in both ways, and of the operator that leaves the way to the device: torch,
mpmath, and devices in float32.
"""

from __future__ import annotations

from math import erf, pi, sqrt
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
    tight,
)

OP = "gelu_backward_v2"
DRAW = pair()
F = np.float32
WAYS = pytest.mark.parametrize("way", ["none", "tanh"])
wide_erf = np.vectorize(erf)


def by_erf(of: Arrays) -> np.ndarray:
    """With an error function that is rounded once."""
    x = of["self"]
    cdf = F(0.5) * (1 + wide_erf((x * F(sqrt(0.5))).astype(np.float64)).astype(F))
    return of["gradOutput"] * (cdf + x * (F(1 / sqrt(2 * pi)) * np.exp(F(-0.5) * x * x)))


def by_tanh(of: Arrays) -> np.ndarray:
    x, outer = of["self"], F(sqrt(2 / pi))
    t = np.tanh(outer * (x + F(0.044715) * x * x * x))
    grown = outer * (1 + F(3 * 0.044715) * x * x)
    return of["gradOutput"] * (F(0.5) * (1 + t) + F(0.5) * x * (1 - t * t) * grown)


def by_exponential(of: Arrays) -> np.ndarray:
    x, outer = of["self"], F(2 * sqrt(2 / pi))
    s = 1 / (1 + np.exp(-outer * (x + F(0.044715) * x * x * x)))
    return of["gradOutput"] * (s + x * s * (1 - s) * outer * (1 + F(3 * 0.044715) * x * x))


RIGHT = {"none": {"erf": by_erf}, "tanh": {"tanh": by_tanh, "exp": by_exponential}}


@WAYS
def test_devices(way: str) -> None:
    names = {"approximate": way}
    assert_correct_devices_stay_inside(OP, RIGHT[way], DRAW, names)
    (other,) = {"none", "tanh"} - {way}
    (right, *_), (swapped, *_) = RIGHT[way].values(), RIGHT[other].values()
    wrong = {
        "the other way": swapped,
        "scaled": lambda of: right(of) * F(1.0001),
        "no density": lambda of: of["gradOutput"] * F(0.5) * (1 + np.tanh(of["self"])),
    }
    assert_wrong_devices_do_not(OP, wrong, DRAW, names)


def test_the_first_version_admits_both_ways_and_no_other() -> None:
    both = {**RIGHT["none"], **RIGHT["tanh"]}
    assert_correct_devices_stay_inside("gelu_backward", both, DRAW)
    wrong = {
        "scaled": lambda of: by_erf(of) * F(1.01),
        "of sigmoid": lambda of: of["gradOutput"] / (1 + np.exp(-F(1.702) * of["self"])),
    }
    assert_wrong_devices_do_not("gelu_backward", wrong, DRAW)


@WAYS
@pytest.mark.parametrize("dtype", ["FLOAT16", "BFLOAT16"])
def test_four_units_in_the_last_place_are_too_many(way: str, dtype: str) -> None:
    x = np.random.default_rng(2).uniform(-3, 6, 20_000).astype(np.float16).astype(np.float64)
    inputs = {"gradOutput": np.ones(len(x)), "self": x}
    assert tight(OP, inputs, dtype, {"approximate": way}) > 0.97


@WAYS
@pytest.mark.parametrize("shapes", [((4, 50), (4, 50)), ((5,), (3, 1))])
def test_torch(way: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    torch = torch_or_skip()
    assert_torch_agrees(
        OP,
        lambda g, x: torch.ops.aten.gelu_backward(g.contiguous(), x.contiguous(), approximate=way),
        {"approximate": way},
        shapes=shapes,
    )


@WAYS
def test_mpmath(way: str) -> None:
    mpmath = pytest.importorskip("mpmath")

    def gelu(x: Any) -> Any:
        if way == "none":
            return x * mpmath.ncdf(x)
        inner = mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf(0.044715) * x**3)
        return x / 2 * (1 + mpmath.tanh(inner))

    random = np.random.default_rng(3)
    x = np.clip(arguments(random, "FLOAT", 150), -30, 30)
    some = {"gradOutput": gradients(random, "FLOAT", 150), "self": x}
    exact = lambda g, x: g * mpmath.diff(gelu, x, h=mpmath.mpf(10) ** -20)  # noqa: E731
    for error, claimed in against_mpmath(OP, some, exact, {"approximate": way}):
        assert error <= claimed + 1e-17
