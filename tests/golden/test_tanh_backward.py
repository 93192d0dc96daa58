"""The gradient of the hyperbolic tangent against torch, and devices with other formulas."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden._saved_result import aligned
from opgen.golden.tanh_backward import depth, golden, magnitude
from opgen.numerics.bounds import bound
from tests.golden import torch_or_skip
from tests.golden.elementwise import DTYPES, gradients, outside


def page(of: dict[str, np.ndarray]) -> np.ndarray:
    return of["gradOutput"] * (1 - of["output"] * of["output"])


def factored(of: dict[str, np.ndarray]) -> np.ndarray:
    return of["gradOutput"] * (1 - of["output"]) * (1 + of["output"])


def expanded(of: dict[str, np.ndarray]) -> np.ndarray:
    return of["gradOutput"] - of["gradOutput"] * of["output"] * of["output"]


def beyond(device: object, dtype: str) -> int:
    """Of a device in float32, how many elements are beyond their bounds."""
    random = np.random.default_rng(1)
    y = np.tanh(random.standard_normal(30_000) * 3).astype(np.float16).astype(np.float64)
    y[::3] = gradients(random, dtype)[::3][: len(y[::3])]  # as no forward gives them
    inputs = {"gradOutput": gradients(random, dtype)[: len(y)], "output": y}
    batch = {name: array[None] for name, array in inputs.items()}
    values, sizes = (of(batch, {}, ["gradInput"])["gradInput"] for of in (golden, magnitude))
    limit = bound(values, sizes, depth({}, {}, "gradInput"), dtype)[0].astype(np.float64)
    return int(outside(values[0], limit, device, inputs, dtype).sum())


@pytest.mark.parametrize("dtype", DTYPES)
def test_correct_devices_stay_inside_the_bound_and_wrong_ones_do_not(dtype: str) -> None:
    for device in (page, factored, expanded):
        assert beyond(device, dtype) == 0
    assert beyond(lambda of: of["gradOutput"] * (1 - of["output"]), dtype) > 10_000
    assert beyond(lambda of: page(of) * np.float32(1.02), dtype) > 10_000


@pytest.mark.parametrize(("dy", "y"), [((4, 5), (4, 5)), ((3, 1, 5), (4, 1)), ((), (2, 3))])
def test_torch(dy: tuple[int, ...], y: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    batch = {
        "gradOutput": random.standard_normal((2, *dy)),
        "output": random.uniform(-1, 1, (2, *y)),
    }
    found = golden(batch, {}, ["gradInput"])["gradInput"]
    stacks = {name: torch.from_numpy(array) for name, array in batch.items()}
    for case in range(2):
        a, b = torch.broadcast_tensors(*(stack[case] for stack in stacks.values()))
        expected = torch.ops.aten.tanh_backward(a, b).numpy()
        assert found[case].shape == np.broadcast_shapes(dy, y)
        assert np.abs(found[case] - expected).max() <= 1e-12


def test_stacks_are_aligned_from_the_last_axis() -> None:
    a, b = aligned(np.zeros((2, 4, 5)), np.zeros((2, 5)))
    assert (a.shape, b.shape) == ((2, 4, 5), (2, 1, 5))
