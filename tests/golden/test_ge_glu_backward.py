"""The gradient of GeGLU from the saved GELU: torch, and devices in float32."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.ge_glu_backward import golden, saved
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    assert_correct_devices_stay_inside,
    assert_wrong_devices_do_not,
    gradients,
)

OP = "ge_glu_backward"
NAMES = {"dim": -1, "approximate": 1}


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    x = np.concatenate([gradients(random, dtype), gradients(random, dtype)])
    return {"gradOutput": gradients(random, dtype), "self": x, "gelu": gradients(random, dtype)}


def by_tanh(of: Arrays) -> np.ndarray:
    (a, b), dy = np.split(of["self"], 2), of["gradOutput"]
    outer, kappa = np.float32(np.sqrt(2 / np.pi)), np.float32(0.044715)
    t = np.tanh(outer * (b + kappa * b * b * b))
    grown = outer * (1 + 3 * kappa * b * b)
    slope = np.float32(0.5) * (1 + t) + np.float32(0.5) * b * (1 - t * t) * grown
    return np.concatenate([dy * of["gelu"], dy * a * slope])


def test_devices() -> None:
    assert_correct_devices_stay_inside(OP, {"tanh": by_tanh}, inputs, NAMES)
    wrong = {
        "halves exchanged": lambda of: np.roll(by_tanh(of), len(of["gelu"])),
        "the other half": lambda of: by_tanh({**of, "self": np.roll(of["self"], len(of["gelu"]))}),
        "no gelu": lambda of: by_tanh({**of, "gelu": of["gradOutput"]}),
    }
    assert_wrong_devices_do_not(OP, wrong, inputs, NAMES)
    assert_wrong_devices_do_not(OP, {"tanh": by_tanh}, inputs, {**NAMES, "approximate": 0})


@pytest.mark.parametrize("approximate", [0, 1])
@pytest.mark.parametrize(("dim", "half"), [(-1, (4, 3)), (0, (2, 6)), (1, (4, 3))])
def test_torch(approximate: int, dim: int, half: tuple[int, ...]) -> None:
    """With the GELU that the kernel says a forward saves."""
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    names = {"dim": dim, "approximate": approximate}
    dy, x = random.standard_normal((2, *half)), random.standard_normal((2, 4, 6)) * 3
    gelu = saved({"self": x}, names)["gelu"]
    found = golden({"gradOutput": dy, "self": x, "gelu": gelu}, names, ["gradInput"])["gradInput"]
    for case in range(2):
        at = torch.tensor(x[case], requires_grad=True)
        a, b = at.chunk(2, dim)
        way = "tanh" if approximate else "none"
        (a * torch.nn.functional.gelu(b, approximate=way)).backward(torch.tensor(dy[case]))
        assert np.abs(found[case] - at.grad.numpy()).max() <= 1e-12
