"""The gradient of hard shrinkage: values at its limits and beside them, torch, wrong devices."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden import kernel
from tests.golden import torch_or_skip
from tests.golden.elementwise import (
    assert_correct_devices_stay_inside,
    assert_torch_agrees,
    assert_wrong_devices_do_not,
    pair,
)

OP = "hardshrink_backward"


@pytest.mark.parametrize("lambd", [0.5, 0.0, -1.0])
def test_devices(lambd: float) -> None:
    limit = np.float32(max(0.0, lambd))
    draw, names = pair(thresholds=(-limit, limit)), {"lambd": lambd}
    page = {"page": lambda of: np.where(np.abs(of["self"]) > limit, of["gradOutput"], 0)}
    assert_correct_devices_stay_inside(OP, page, draw, names)
    wrong = {
        "not strict": lambda of: np.where(np.abs(of["self"]) >= limit, of["gradOutput"], 0),
        "above alone": lambda of: np.where(of["self"] > limit, of["gradOutput"], 0),
        "all": lambda of: of["gradOutput"],
    }
    assert_wrong_devices_do_not(OP, wrong, draw, names)
    assert kernel(OP).thresholds(names) == (-limit, limit)


def test_torch() -> None:
    torch = torch_or_skip()
    assert_torch_agrees(
        OP,
        lambda g, x: torch.ops.aten.hardshrink_backward(g, x, 0.75),
        {"lambd": 0.75},
        thresholds=(0.75, -0.75),
        shapes=((3, 1), (2, 1, 5)),
    )
