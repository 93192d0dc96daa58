"""The gradient of SwiGLU: torch, and devices in float32."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.swi_glu_grad import golden
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    arguments,
    assert_correct_devices_stay_inside,
    assert_wrong_devices_do_not,
    gradients,
)

OP = "swi_glu_grad"
NAMES = {"dim": -1}


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    x = np.concatenate([arguments(random, dtype), gradients(random, dtype)])
    return {"yGrad": gradients(random, dtype), "x": x}


def page(of: Arrays) -> np.ndarray:
    (a, b), dy = np.split(of["x"], 2), of["yGrad"]
    s = 1 / (1 + np.exp(-a))
    return np.concatenate([dy * (s + s * (1 - s) * a) * b, dy * s * a])


def test_devices() -> None:
    assert_correct_devices_stay_inside(OP, {"page": page}, inputs, NAMES, "out")
    wrong = {
        "halves exchanged": lambda of: np.roll(page(of), len(of["yGrad"])),
        "the other half": lambda of: page({**of, "x": np.roll(of["x"], len(of["yGrad"]))}),
        "another argument": lambda of: page({**of, "x": of["x"] * np.float32(1.01)}),
    }
    assert_wrong_devices_do_not(OP, wrong, inputs, NAMES, "out")


@pytest.mark.parametrize(("dim", "half"), [(-1, (4, 3)), (0, (2, 6)), (1, (4, 3)), (-2, (2, 6))])
def test_torch(dim: int, half: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    dy, x = random.standard_normal((2, *half)), random.standard_normal((2, 4, 6)) * 3
    found = golden({"yGrad": dy, "x": x}, {"dim": dim}, ["out"])["out"]
    for case in range(2):
        at = torch.tensor(x[case], requires_grad=True)
        a, b = at.chunk(2, dim)
        (torch.nn.functional.silu(a) * b).backward(torch.tensor(dy[case]))
        assert np.abs(found[case] - at.grad.numpy()).max() <= 1e-12
