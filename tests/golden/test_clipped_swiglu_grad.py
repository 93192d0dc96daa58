"""The gradient of a clipped SwiGLU: element by element, by torch, and devices in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opgen.golden.clipped_swiglu_grad import golden, saved
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    Arrays,
    arguments,
    assert_correct_devices_stay_inside,
    assert_wrong_devices_do_not,
    gradients,
)

OP = "clipped_swiglu_grad"
NAMES: dict[str, Any] = {
    "dim": 0,
    "alpha": 1.702,
    "limit": 7.0,
    "bias": 1.0,
    "interleaved": False,
}


def inputs(random: np.random.Generator, dtype: str) -> Arrays:
    x = np.concatenate([arguments(random, dtype), gradients(random, dtype)])
    x[[14, 15]] = 7.0, np.nextafter(np.float32(7), np.float32(8)) if dtype == "FLOAT" else 8.0
    return {"gradY": gradients(random, dtype), "x": x}


def page(of: Arrays, at_limit: bool = True, alpha: float = 1.702, bias: float = 1.0) -> np.ndarray:
    """Lines 85 to 117 of the page, in the order in which they are printed."""
    (x0, x1), dy, limit = np.split(of["x"], 2), of["gradY"], 7
    a, b = np.minimum(x0, limit), np.clip(x1, -limit, limit)
    inside = np.less_equal if at_limit else np.less
    with np.errstate(over="ignore"):
        s = 1 / (1 + np.exp(-np.asarray(alpha, x0.dtype) * a))
    slope = s * (1 + np.asarray(alpha, x0.dtype) * a * (1 - s))
    first = dy * (b + np.asarray(bias, x0.dtype)) * slope * inside(x0, limit)
    return np.concatenate([first, dy * a * s * inside(np.abs(x1), limit)])


def test_devices() -> None:
    assert_correct_devices_stay_inside(OP, {"page": page}, inputs, NAMES, "gradXOut")
    wrong = {
        "halves exchanged": lambda of: np.roll(page(of), len(of["gradY"])),
        "nothing passes at the limit": lambda of: page(of, at_limit=False),
        "another alpha": lambda of: page(of, alpha=1.7),
        "no bias": lambda of: page(of, bias=0.0),
    }
    assert_wrong_devices_do_not(OP, wrong, inputs, NAMES, "gradXOut")


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("dim", "half"), [(-1, (4, 6, 2)), (0, (2, 6, 4)), (-2, (4, 3, 4))])
def test_torch(dim: int, half: tuple[int, ...], interleaved: bool) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    dy, x = random.standard_normal((2, *half)), random.standard_normal((2, 4, 6, 4)) * 3
    names = {"dim": dim, "alpha": 0.9, "limit": 2.5, "bias": -0.5, "interleaved": interleaved}
    found = golden({"gradY": dy, "x": x, "groupIndexOptional": None}, names, ["gradXOut"])
    for case in range(2):
        whole = torch.tensor(x[case], requires_grad=True)
        rows = whole.reshape(int(np.prod((4, 6, 4)[: dim % 3])), -1)
        a, b = (rows[:, ::2], rows[:, 1::2]) if interleaved else rows.chunk(2, 1)
        a, b = a.clamp(max=2.5), b.clamp(-2.5, 2.5)
        y = a * torch.sigmoid(0.9 * a) * (b - 0.5)
        y.backward(torch.tensor(dy[case]).reshape(y.shape))
        assert np.abs(found["gradXOut"][case] - whole.grad.numpy()).max() <= 1e-12


@pytest.mark.parametrize(("groups", "last"), [([1, 2], 3), ([4], 4), ([9, 9], 4), ([0], 0)])
def test_rows_of_no_group_have_no_gradient(groups: list[int], last: int) -> None:
    random = np.random.default_rng(4)
    tensors = {"gradY": random.standard_normal((1, 4, 3)), "x": random.standard_normal((1, 4, 6))}
    names = {**NAMES, "dim": 1}
    every = golden({**tensors, "groupIndexOptional": None}, names, ["gradXOut"])["gradXOut"]
    some = {**tensors, "groupIndexOptional": np.array([groups], dtype=float)}
    found = golden(some, names, ["gradXOut"])["gradXOut"]
    assert np.array_equal(found[:, :last], every[:, :last]) and not found[:, last:].any()


def test_saved_groups_grow_and_leave_rows_over() -> None:
    x = {"x": np.zeros((2, 12, 4))}
    sizes = saved(x, {"dim": -1, "G": 2})["groupIndexOptional"]
    assert sizes.tolist() == [[2, 4], [2, 4]]
