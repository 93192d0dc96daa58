"""The gradient of adaptive max pooling, and the indices of its forward, by definition and against
torch.
"""

from __future__ import annotations

import numpy as np

from opgen.golden.adaptive_max_pool2d_backward import depth, golden, magnitude, saved
from tests.golden import distance, torch_or_skip
from tests.golden.adaptive import geometries, windows

AXES = "HW"


def test_definition() -> None:
    random, ties = np.random.default_rng(0), 0
    for names in geometries(AXES, 1, 60):
        image = random.integers(-3, 4, (2, 3, names["Hin"], names["Win"])).astype(float)
        dy = random.standard_normal((2, 3, names["Hout"], names["Wout"]))
        of = {"gradOutput": dy, "self": image, "indices": None}
        index = saved(of, names)["indices"]
        expected, terms = np.zeros_like(image), np.zeros(image.shape, dtype=int)
        for plane in np.ndindex(2, 3):
            for place, covered in windows(names, AXES):
                values = [image[(*plane, *element)] for element in covered]
                ties += values.count(max(values)) > 1
                row, column = covered[values.index(max(values))]
                assert index[(*plane, *place)] == row * names["Win"] + column
                expected[(*plane, row, column)] += dy[(*plane, *place)]
                terms[(*plane, row, column)] += 1
        of["indices"] = index
        found = golden(of, names, ["gradInput"])["gradInput"]
        assert distance(found, expected) <= 1e-15
        assert terms.max() <= depth(names, {}, "gradInput")
        size = magnitude(of, names, ["gradInput"])["gradInput"]
        assert (np.abs(found) <= size + 1e-15).all() and (size[terms == 0] == 0).all()
    assert ties > 100


def test_torch() -> None:
    torch = torch_or_skip()
    random = np.random.default_rng(2)
    for names in geometries(AXES, 3, 60):
        image = torch.from_numpy(random.integers(-3, 4, (2, 3, names["Hin"], names["Win"])) * 1.0)
        forward = torch.ops.aten.adaptive_max_pool2d(image, [names["Hout"], names["Wout"]])
        dy = torch.from_numpy(random.standard_normal(forward[0].shape))
        expected = torch.ops.aten.adaptive_max_pool2d_backward(dy, image, forward[1])
        of = {"self": image.numpy(), "gradOutput": dy.numpy(), "indices": None}
        of["indices"] = saved(of, names)["indices"]
        assert np.array_equal(of["indices"], forward[1].numpy())
        found = golden(of, names, ["gradInput"])["gradInput"]
        assert distance(found, expected.numpy()) <= 1e-15
