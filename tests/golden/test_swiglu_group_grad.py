"""The gradients of a SwiGLU of weighted rows: by torch, and by devices in float32."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.swiglu_group_grad import both, golden, saved
from opgen.numerics.bounds import bound
from tests.golden import torch_or_skip

OUTPUTS = ("gradXOut", "gradWeightOutOptional")


def inputs(seed: int, rows: int = 6, half: int = 5) -> dict[str, np.ndarray | None]:
    random = np.random.default_rng(seed)

    def stored(*shape: int) -> np.ndarray:
        return random.standard_normal((2, *shape)).astype(np.float32).astype(np.float64)

    return {
        "gradY": stored(rows, half),
        "x": stored(rows, 2 * half),
        "weightOptional": stored(rows, 1),
        "yOriginOptional": stored(rows, half),
        "groupIndexOptional": np.array([[1, 2], [2, 3]], dtype=float),
    }


def device(of: dict[str, np.ndarray | None], limit: float, fault: str = "") -> list[np.ndarray]:
    """Steps 1 to 7 of the page in float32, one of them wrong where a fault is named."""
    single = {name: None if a is None else a.astype(np.float32) for name, a in of.items()}
    dy, x, weight, y, groups = single.values()
    assert dy is not None and x is not None and groups is not None
    assert weight is not None and y is not None
    x0, x1 = np.split(x, 2, -1)
    c = np.float32(limit or np.inf)
    a, b = np.minimum(x0, c), np.clip(x1, -c, c)
    s = 1 / (1 + np.exp(-a))
    gy = dy if fault == "no weight" else dy * weight
    first, second = gy * b * s * (1 + a * (1 - s)), gy * a * s
    if fault != "no mask":
        first, second = first * (x0 < c), second * (np.abs(x1) < c)
    last = groups[:, 0] if fault == "first group" else groups.sum(-1)
    kept = np.arange(x.shape[1])[None, :, None] < last[:, None, None]
    gx = np.concatenate([first, second], -1) * kept
    gw = (dy * y).sum(-1, keepdims=True)
    return [gx, gw * kept if fault == "rows of the weight" else gw]


FAULTS = {"no weight": 0, "no mask": 0, "first group": 0, "rows of the weight": 1}


@pytest.mark.parametrize("limit", [0.0, 0.7])
def test_a_device_in_float_is_within_the_bound_and_wrong_ones_are_not(limit: float) -> None:
    of = inputs(1)
    goldens, sizes = both(of, {"clampLimit": limit}, OUTPUTS)
    limits = [bound(goldens[out], sizes[out], 1, "FLOAT") for out in OUTPUTS]
    for out, found, most in zip(OUTPUTS, device(of, limit), limits, strict=True):
        assert (np.abs(found - goldens[out]) <= most).all(), out
    for fault, place in FAULTS.items():
        if limit or fault != "no mask":
            off = np.abs(device(of, limit, fault)[place] - goldens[OUTPUTS[place]])
            assert (off > limits[place]).any(), fault


def test_nothing_passes_at_the_limit() -> None:
    of = {**inputs(2), "groupIndexOptional": None}
    x = of["x"]
    assert x is not None
    x[:] = [1.0, 0.999, 2.0, -1.0, -2.0, 0.999, 1.0, -1.0, 0.5, 2.0]
    found = golden(of, {"clampLimit": 1.0}, OUTPUTS[:1])["gradXOut"]
    passes = [False, True, False, True, True, True, False, False, True, False]
    assert ((found != 0) == passes).all()


@pytest.mark.parametrize("limit", [0.0, 0.7])
def test_torch(limit: float) -> None:
    torch = torch_or_skip()
    of = inputs(3)
    for case in range(2):
        dy, x, weight = (torch.tensor(a[case]) for a in list(of.values())[:3] if a is not None)
        x.requires_grad_(), weight.requires_grad_()
        a, b = x.chunk(2, -1)
        if limit:
            a, b = a.clamp(max=limit), b.clamp(-limit, limit)
        unit = torch.nn.functional.silu(a) * b
        (unit * weight).backward(dy)
        some = {name: None if a is None else a[case : case + 1] for name, a in of.items()}
        some |= {
            "groupIndexOptional": None,
            "yOriginOptional": (unit * weight).detach().numpy()[None],
        }
        found = golden(some, {"clampLimit": limit}, OUTPUTS)
        assert np.abs(found["gradXOut"][0] - x.grad.numpy()).max() <= 1e-12
        times_weight = (weight.grad * weight.detach()).numpy()
        assert np.abs(found["gradWeightOutOptional"][0] - times_weight).max() <= 1e-12


def test_saved_groups_grow_and_leave_rows_over() -> None:
    sizes = saved({"x": np.zeros((2, 3, 4, 6))}, {"G": 2})["groupIndexOptional"]
    assert sizes.tolist() == [[2, 4], [2, 4]]
