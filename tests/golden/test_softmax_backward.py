"""The gradient of the softmax against torch, and devices with other formulas."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.softmax_backward import golden
from tests.golden import torch_or_skip
from tests.golden.elementwise import Arrays, assert_correct_devices_stay_inside, gradients

OP = "softmax_backward"
SHAPE = (300, 100)


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    dy = gradients(random, dtype)[: SHAPE[0] * SHAPE[1]].reshape(SHAPE)
    e = np.exp(random.standard_normal(SHAPE) * 2)
    y = (e / e.sum(axis=1, keepdims=True)).astype(np.float16).astype(np.float64)
    return {"gradOutput": dy, "output": y}


def page(of: Arrays) -> np.ndarray:
    terms = of["gradOutput"] * of["output"]
    return terms - terms.sum(axis=1, keepdims=True) * of["output"]


def difference_first(of: Arrays) -> np.ndarray:
    terms = of["gradOutput"] * of["output"]
    total = np.cumsum(terms, axis=1, dtype=np.float32)[:, -1:]
    return (of["gradOutput"] - total) * of["output"]


def inside(device: object) -> None:
    devices = {"device": device}
    assert_correct_devices_stay_inside(OP, devices, inputs, {"dim": -1}, "out")


@pytest.mark.parametrize("device", [page, difference_first])
def test_correct_devices_stay_inside_the_bound(device: object) -> None:
    inside(device)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda of: of["gradOutput"] * of["output"],
        lambda of: page(of) * np.float32(1.01),
        lambda of: page({**of, "output": np.roll(of["output"], 1, axis=1)}),
    ],
)
def test_a_wrong_device_does_not(wrong: object) -> None:
    with pytest.raises(AssertionError):
        inside(wrong)


@pytest.mark.parametrize(
    ("shape", "dim"), [((4, 5, 6), 0), ((4, 5, 6), 1), ((4, 5, 6), -1), ((7,), 0), ((), -1)]
)
def test_torch(shape: tuple[int, ...], dim: int) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    dy, x = random.standard_normal((2, 2, *shape))
    y = torch.softmax(torch.from_numpy(x), dim + 1 if dim >= 0 and shape else -1)
    y = torch.ones_like(y) if not shape else y
    found = golden({"gradOutput": dy, "output": y.numpy()}, {"dim": dim}, ["out"])["out"]
    for case in range(2):
        at = torch.from_numpy(np.asarray(x[case])).requires_grad_()
        torch.softmax(at, dim).backward(torch.from_numpy(np.asarray(dy[case])))
        assert np.abs(found[case] - at.grad.numpy()).max() <= 1e-12
