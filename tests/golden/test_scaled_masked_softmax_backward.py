"""The gradient of the scaled and masked softmax against torch, and devices with other formulas."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.scaled_masked_softmax_backward import golden
from tests.golden import torch_or_skip
from tests.golden.elementwise import Arrays, assert_correct_devices_stay_inside, gradients

OP = "scaled_masked_softmax_backward"
SHAPE = (3, 4, 20, 50)
SCALE = 0.1


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    count = int(np.prod(SHAPE))
    dy = gradients(random, dtype, count).reshape(SHAPE)
    e = np.exp(random.standard_normal(SHAPE) * 2)
    y = (e / e.sum(axis=-1, keepdims=True)).astype(np.float16).astype(np.float64)
    return {"gradOutput": dy, "y": y, "mask": random.integers(0, 2, SHAPE) * 1.0}


def page(of: Arrays) -> np.ndarray:
    terms = of["gradOutput"] * of["y"]
    gradient = terms - terms.sum(axis=-1, keepdims=True) * of["y"]
    return np.where(of["mask"] != 0, np.float32(0), gradient * np.float32(SCALE))


def difference_first(of: Arrays) -> np.ndarray:
    terms = of["gradOutput"] * of["y"]
    total = np.cumsum(terms, axis=-1, dtype=np.float32)[..., -1:]
    gradient = (of["gradOutput"] - total) * of["y"] * np.float32(SCALE)
    return gradient * (1 - of["mask"])


def inside(device: object) -> None:
    devices = {"device": device}
    assert_correct_devices_stay_inside(OP, devices, inputs, {"scale": SCALE}, "out")


@pytest.mark.parametrize("device", [page, difference_first])
def test_correct_devices_stay_inside_the_bound(device: object) -> None:
    inside(device)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda of: page({**of, "mask": 1 - of["mask"]}),
        lambda of: page(of) / np.float32(SCALE),
        lambda of: page({**of, "y": np.roll(of["y"], 1, axis=-1)}),
        lambda of: page({**of, "mask": of["mask"][::-1]}),
    ],
)
def test_a_wrong_device_does_not(wrong: object) -> None:
    with pytest.raises(AssertionError):
        inside(wrong)


def test_torch() -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    x, dy = random.standard_normal((2, 2, 2, 3, 4, 5))
    mask = random.integers(0, 2, (2, 1, 3, 4, 5))
    for case in range(2):
        at = torch.from_numpy(x[case]).requires_grad_()
        hidden = torch.from_numpy(mask[case]).bool()
        y = torch.softmax(at * 0.75, -1)
        y.backward(torch.from_numpy(dy[case]))
        found = golden(
            {"gradOutput": dy[case][None], "y": y.detach().numpy()[None], "mask": mask[case][None]},
            {"scale": 0.75},
            ["out"],
        )["out"][0]
        expected = at.grad.masked_fill(hidden, 0).numpy()
        assert np.abs(found - expected).max() <= 1e-12
