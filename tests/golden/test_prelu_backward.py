"""The gradients of a ReLU with weights: torch, and the definition in loops."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.prelu_backward import both, golden
from tests.golden import torch_or_skip

OUTPUTS = ["gradInput", "gradWeight"]
SHAPES = [
    ((2, 3, 5), (2, 3, 5), (3,)),
    ((5,), (4, 5), (1, 5)),
    ((3, 1, 2), (3, 4, 2), (1,)),
    ((6,), (6,), (1,)),
    ((), (), ()),
]


@pytest.mark.parametrize(("grad", "source", "weight"), SHAPES)
def test_torch(grad: tuple[int, ...], source: tuple[int, ...], weight: tuple[int, ...]) -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(4)
    g, x, w = (random.integers(-3, 4, (2, *s)).astype(float) for s in (grad, source, weight))
    found = golden({"gradOutput": g, "self": x, "weight": w}, {}, OUTPUTS)
    for case in range(2):
        at, of = (
            torch.tensor(x[case], requires_grad=True),
            torch.tensor(w[case], requires_grad=True),
        )
        y = torch.nn.functional.prelu(at, of.reshape(-1))
        y.backward(torch.tensor(np.broadcast_to(g[case], source).copy()))
        assert np.array_equal(found["gradInput"][case], at.grad.numpy())
        assert np.array_equal(found["gradWeight"][case], of.grad.numpy())


def test_loops() -> None:
    random = np.random.default_rng(5)
    g, x = random.integers(-3, 4, (2, 2, 3, 4)).astype(float)
    w = np.array([2.0, 4.0, -8.0])
    dx, dw = np.zeros_like(x), np.zeros(3)
    for n, c, r in np.ndindex(x.shape):
        above = x[n, c, r] > 0
        dx[n, c, r] = g[n, c, r] * (1 if above else w[c])
        dw[c] += 0 if above else g[n, c, r] * x[n, c, r]
    of = {"gradOutput": g[None], "self": x[None], "weight": w[None]}
    found = golden(of, {}, OUTPUTS)
    assert np.array_equal(found["gradInput"][0], dx)
    assert np.array_equal(found["gradWeight"][0], dw)


def test_a_subnormal_may_count_as_zero_and_a_nan_as_anything() -> None:
    x = np.array([[[2.0**-130], [np.nan], [1.0]]])
    of = {"gradOutput": np.full((1, 3, 1), 8.0), "self": x, "weight": np.full((1, 1), 4.0)}
    values, sizes = both(of, {}, ["gradInput"])
    golden_, size = values["gradInput"].ravel(), sizes["gradInput"].ravel()
    assert golden_[0] == 8 and size[0] * 2.0**-24 >= 24 and np.isinf(size[1]) and size[2] < 9
