"""The gradient of the logarithm of the softmax against its definition, torch and devices that add
in other orders.
"""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.log_softmax_backward import golden, saved
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    COUNT,
    Arrays,
    arguments,
    assert_correct_devices_stay_inside,
    gradients,
    tight,
)

OP, ROW = "log_softmax_backward", 50
NAMES = {"dim": -1}


def forward(x: np.ndarray, names: dict[str, int]) -> np.ndarray:
    return saved({"output": x}, names)["output"]


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    shape = (1, COUNT // ROW, ROW)
    y = forward(arguments(random, dtype).clip(-64, 64).reshape(shape), NAMES)[0]
    y = y.astype(np.float16 if dtype == "FLOAT16" else np.float32).astype(np.float64)
    return {"gradOutput": gradients(random, dtype).reshape(shape[1:]), "output": y}


def pairwise(of: Arrays) -> np.ndarray:
    dy = of["gradOutput"]
    return dy - dy.sum(-1, keepdims=True) * np.exp(of["output"])


def backwards(of: Arrays) -> np.ndarray:
    dy = of["gradOutput"]
    return dy - np.add.accumulate(dy[:, ::-1], axis=-1)[:, -1:] * np.exp(of["output"])


def test_correct_devices_stay_inside_the_bound() -> None:
    devices = {"pairwise": pairwise, "backwards": backwards}
    assert_correct_devices_stay_inside(OP, devices, inputs, NAMES, "out")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda of: pairwise({**of, "output": of["output"] * np.float32(1.001)}),
        lambda of: of["gradOutput"] - of["gradOutput"].sum(-1, keepdims=True) / ROW,
    ],
    ids=["argument", "mean"],
)
def test_a_wrong_device_does_not(wrong: object) -> None:
    with pytest.raises(AssertionError):
        assert_correct_devices_stay_inside(OP, {"wrong": wrong}, inputs, NAMES, "out")


@pytest.mark.parametrize("dtype", ["FLOAT16", "BFLOAT16"])
def test_four_units_in_the_last_place_are_too_many(dtype: str) -> None:
    some = inputs(np.random.default_rng(2), dtype)
    assert tight(OP, some, dtype, NAMES, "out") > 0.95


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_torch(dim: int) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    dy, x = random.standard_normal((2, 3, 4, 5, 6))
    at = torch.tensor(x, requires_grad=True)
    along = dim + 1 if dim >= 0 else dim
    y = torch.log_softmax(at, along)
    y.backward(torch.from_numpy(dy))
    tensors = {"gradOutput": dy, "output": y.detach().numpy()}
    found = golden(tensors, {"dim": dim}, ["out"])["out"]
    assert np.abs(found - at.grad.numpy()).max() <= 1e-12
    assert np.abs(golden(tensors, {"dim": dim - 1}, ["out"])["out"] - found).max() > 0.1


def test_what_the_forward_saves_sums_to_1() -> None:
    x = np.random.default_rng(5).uniform(-64, 64, (2, 3, 40))
    assert np.abs(np.exp(forward(x, {"dim": 1})).sum(axis=2) - 1).max() <= 1e-14
    assert forward(x[:, :, :0], {"dim": 1}).shape == (2, 3, 0)
