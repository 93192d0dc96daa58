"""The gradient of max unpooling by its definition, and by torch's."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.max_unpool2d_backward import golden, magnitude
from tests.golden import distance, torch_or_skip

SIZES = [(7, 6, 3, 2), (4, 5, 4, 5), (2, 3, 5, 4), (1, 33, 1, 17)]


@pytest.mark.parametrize("sizes", SIZES)
def test_each_element_gets_what_stands_at_its_index(sizes: tuple[int, ...]) -> None:
    names = dict(zip(("Hin", "Win", "Hout", "Wout"), sizes, strict=True))
    random = np.random.default_rng(1)
    dy = random.standard_normal((2, 3, *sizes[:2]))
    indices = random.integers(0, sizes[0] * sizes[1], (2, 3, *sizes[2:]))
    expected = np.empty(indices.shape)
    for place in np.ndindex(*indices.shape):
        expected[place] = dy[(*place[:2], *divmod(int(indices[place]), sizes[1]))]
    of = {"gradOutput": dy, "self": None, "indices": indices.astype(float)}
    assert np.array_equal(golden(of, names, ["out"])["out"], expected)
    assert np.array_equal(magnitude(of, names, ["out"])["out"], np.abs(expected))
    turned = golden({**of, "gradOutput": dy[..., ::-1]}, names, ["out"])["out"]
    assert not np.array_equal(turned, expected)


def test_torch() -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(2)
    names = {"Hin": 7, "Win": 6, "Hout": 3, "Wout": 2}
    indices = np.stack([random.permutation(42)[:6].reshape(3, 2) for _ in range(6)])
    indices = indices.reshape(2, 3, 3, 2)
    dy = random.standard_normal((2, 3, 7, 6))
    leaf = torch.zeros(2, 3, 3, 2, dtype=torch.float64, requires_grad=True)
    unpooled = torch.ops.aten.max_unpool2d(leaf, torch.from_numpy(indices), [7, 6])
    unpooled.backward(torch.from_numpy(dy))
    of = {"gradOutput": dy, "self": None, "indices": indices.astype(float)}
    assert distance(golden(of, names, ["out"])["out"], leaf.grad.numpy()) == 0
