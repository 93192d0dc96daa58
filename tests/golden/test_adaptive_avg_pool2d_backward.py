"""The gradient of adaptive average pooling by definition, and against torch."""

from __future__ import annotations

import numpy as np

from opgen.golden.adaptive_avg_pool2d_backward import depth, golden, magnitude
from opgen.numerics.bounds import bound
from tests.golden import distance, torch_or_skip
from tests.golden.adaptive import Names, average_gradient, geometries

AXES = "HW"


def drawn(names: Names, seed: int) -> np.ndarray:
    shape = 2, 3, *[names[a + "out"] for a in AXES]
    return np.random.default_rng(seed).standard_normal(shape)


def test_definition_and_bound() -> None:
    seen = 0
    for i, names in enumerate(geometries(AXES, 1, 40)):
        dy = drawn(names, i)
        found = golden({"gradOutput": dy}, names, ["out"])["out"]
        size = magnitude({"gradOutput": dy}, names, ["out"])["out"]
        assert distance(found, average_gradient(names, AXES, dy)) <= 1e-14
        assert distance(size, average_gradient(names, AXES, np.abs(dy))) <= 1e-14
        limit = bound(found, size, depth(names, {}, "out"), "FLOAT")
        single = average_gradient(names, AXES, dy.astype(np.float32).astype(float))
        assert (np.abs(single - found) <= limit + np.abs(size) * 2.0**-23).all()
        turned = average_gradient(names, AXES, dy[..., ::-1])
        seen += bool((np.abs(turned - found) > limit).any())
    assert seen > 20


def test_torch() -> None:
    torch = torch_or_skip()
    for i, names in enumerate(geometries(AXES, 2, 60)):
        dy = drawn(names, i)
        source = torch.zeros((2, 3, *[names[a + "in"] for a in AXES]), dtype=torch.float64)
        operator = torch.ops.aten._adaptive_avg_pool2d_backward
        expected = operator(torch.from_numpy(dy), source).numpy()
        assert distance(golden({"gradOutput": dy}, names, ["out"])["out"], expected) <= 1e-14
