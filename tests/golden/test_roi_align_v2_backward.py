"""The gradient of RoI align: the page's example, and against a forward sample by sample, by
torch's interpolation.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pytest

from opgen.golden.roi_align_v2_backward import depth, golden, magnitude, saved
from opgen.numerics.bounds import bound
from tests.golden import distance, torch_or_skip

Names = dict[str, Any]


def read(plane: np.ndarray, y: float, x: float) -> float:
    """An image between its elements; nothing beyond an element before it or behind it."""
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    above = plane[top, left] * (left + 1 - x) + plane[top, right] * (x - left)
    below = plane[bottom, left] * (left + 1 - x) + plane[bottom, right] * (x - left)
    return float(above * (top + 1 - y) + below * (y - top))


def aligned(image: np.ndarray, boxes: np.ndarray, names: Names) -> np.ndarray:
    """(K, C, Hout, Wout) of images (B, C, Hin, Win), by the definition."""
    high, wide = names["Hout"], names["Wout"]
    out = np.zeros((len(boxes), image.shape[1], high, wide))
    for k, (number, *corners) in enumerate(boxes):
        x1, y1, x2, y2 = np.array(corners) * names["spatialScale"] - 0.5 * names["aligned"]
        height, width = y2 - y1, x2 - x1
        if not names["aligned"]:
            height, width = max(height, 1.0), max(width, 1.0)
        down = names["samplingRatio"] or ceil(height / high)
        across = names["samplingRatio"] or ceil(width / wide)
        for c, i, j in np.ndindex(*out.shape[1:]):
            samples = [
                read(
                    image[int(number), c],
                    y1 + (i + (row + 0.5) / down) * height / high,
                    x1 + (j + (column + 0.5) / across) * width / wide,
                )
                for row in range(down)
                for column in range(across)
            ]
            out[k, c, i, j] = sum(samples) / len(samples)
    return out


def names_of(seed: int, ratio: int, shift: bool) -> Names:
    random = np.random.default_rng(seed)
    sizes = random.integers([1, 1, 1, 1, 1, 2, 2], [4, 4, 4, 4, 4, 9, 9]).tolist()
    names: Names = dict(zip(("K", "C", "Hout", "Wout", "B", "Hin", "Win"), sizes, strict=True))
    pooled = {"pooledHeight": names["Hout"], "pooledWidth": names["Wout"]}
    scale = float(random.choice([0.25, 1.0, 2.0]))
    return {
        **names,
        **pooled,
        "spatialScale": scale,
        "samplingRatio": ratio,
        "aligned": int(shift),
    }


def test_the_example_of_the_page() -> None:
    dy = np.array([4.5, 6.5, 8.5, 16.5, 18.5, 20.5, 28.5, 30.5, 32.5]).reshape(1, 1, 1, 3, 3)
    names = {"K": 1, "C": 1, "Hout": 3, "Wout": 3, "B": 1, "Hin": 6, "Win": 6}
    names |= {"pooledHeight": 3, "pooledWidth": 3, "samplingRatio": 2, "aligned": 0}
    of = {"gradOutput": dy, "boxes": np.array([[[0.0, -2, -2, 22, 22]]])}
    got = golden(of, {**names, "spatialScale": 0.25}, ["gradInput"])["gradInput"]
    expected = np.array([[1.125, 1.625, 2.125], [4.125, 4.625, 5.125], [7.125, 7.625, 8.125]])
    assert got[0, 0, 0].tolist() == expected.repeat(2, axis=0).repeat(2, axis=1).tolist()


@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("ratio", [0, 1, 2])
def test_adjoint_of_the_definition(ratio: int, shift: bool) -> None:
    random, wrong = np.random.default_rng(1), 0
    for seed in range(12):
        names = names_of(seed, ratio, shift)
        shape = names["B"], names["C"], names["Hin"], names["Win"]
        dy = random.standard_normal((2, names["K"], names["C"], names["Hout"], names["Wout"]))
        drawn = random.standard_normal((2, names["K"], 5))
        boxes = saved({"boxes": drawn}, names)["boxes"]
        assert (boxes >= 0).all() and (boxes[..., 0] < names["B"]).all()
        assert (boxes[..., 3:] * names["spatialScale"] <= [names["Win"], names["Hin"]]).all()
        of = {"gradOutput": dy, "boxes": boxes}
        got = golden(of, names, ["gradInput"])["gradInput"]
        size = magnitude(of, names, ["gradInput"])["gradInput"]
        image = random.standard_normal((2, *shape))
        for case in (0, 1):
            right = (aligned(image[case], boxes[case], names) * dy[case]).sum()
            assert abs((got[case] * image[case]).sum() - right) <= 1e-11 * max(1, abs(right))
            turned = aligned(image[case, :, :, ::-1], boxes[case], names)
            wrong += abs((turned * dy[case]).sum() - right) > 1e-6
        limit = bound(got, size, depth(names, {}, "gradInput"), "FLOAT")
        device = golden({**of, "boxes": boxes * (1 + 2.0**-24)}, names, ["gradInput"])["gradInput"]
        assert (np.abs(device - got) <= limit).all() or ratio == 0
    assert wrong > 12


def test_torch() -> None:
    """A box of the whole image with one sample in each part is a bilinear upsampling."""
    torch = torch_or_skip()
    dy = np.random.default_rng(2).standard_normal((1, 1, 2, 7, 9))
    names = {"K": 1, "C": 2, "Hout": 7, "Wout": 9, "B": 1, "Hin": 4, "Win": 5, "aligned": 1}
    names |= {"pooledHeight": 7, "pooledWidth": 9, "samplingRatio": 1}
    of = {"gradOutput": dy, "boxes": np.array([[[0.0, 0, 0, 5, 4]]])}
    got = golden(of, {**names, "spatialScale": 1.0}, ["gradInput"])["gradInput"]
    expected = torch.ops.aten.upsample_bilinear2d_backward(
        torch.from_numpy(dy[0]), [7, 9], [1, 2, 4, 5], False
    )
    assert distance(got[0], expected.numpy()) <= 1e-14


ONE: Names = {"K": 1, "C": 1, "Hout": 1, "Wout": 1, "B": 1, "Hin": 4, "Win": 4, "aligned": 0}
ONE |= {"pooledHeight": 1, "pooledWidth": 1, "spatialScale": float(np.float32(0.1))}
"""A box of one part in one image, with a scale that FLOAT rounds."""


def limits_of(box: list[float], ratio: int) -> tuple[np.ndarray, np.ndarray]:
    """The gradient (4, 4) of a box, and its bounds; the incoming one is 1."""
    names = {**ONE, "samplingRatio": ratio}
    of = {"gradOutput": np.ones((1, 1, 1, 1, 1)), "boxes": np.array([[box]])}
    got = golden(of, names, ["gradInput"])["gradInput"]
    size = magnitude(of, names, ["gradInput"])["gradInput"]
    return got[0, 0, 0], bound(got, size, depth(names, {}, "gradInput"), "FLOAT")[0, 0, 0]


def test_a_sample_on_the_end_of_what_counts_may_count_or_not() -> None:
    """-15 * 0.1 + 0.5 is beyond -1 by a rounding, and in FLOAT is -1."""
    got, limit = limits_of([0, -15, 0, -15, 0], 1)
    assert np.float32(-15) * np.float32(0.1) + np.float32(0.5) == -1
    assert not got.any() and limit[0, 0] >= 0.5 <= limit[1, 0] and not limit[:, 2:].any()
    got, limit = limits_of([0, -16, 0, -16, 0], 1)
    assert not got.any() and not limit.any()
    got, limit = limits_of([0, -14, 0, -14, 0], 1)
    assert got[:2, 0].tolist() == [0.5, 0.5] and limit.max() < 1e-5


def test_a_number_of_samples_that_a_rounding_changes_leaves_the_gradient_open() -> None:
    """30 * 0.1 is above 3, and in FLOAT is 3: four samples in a part, or three."""
    assert np.float32(30) * np.float32(0.1) == 3 < 30 * ONE["spatialScale"]
    assert np.isinf(limits_of([0, 0, 0, 30, 30], 0)[1]).all()
    assert np.isfinite(limits_of([0, 0, 0, 30, 30], 2)[1]).all()
    assert np.isfinite(limits_of([0, 0, 0, 25, 25], 0)[1]).all()


@pytest.mark.parametrize("box", [[1, 0, 0, 9, 9], [-1, 0, 0, 9, 9], [0, 0, 0, np.inf, 9]])
def test_a_box_of_no_image_leaves_the_gradient_open(box: list[float]) -> None:
    got, limit = limits_of(box, 0)
    assert not got.any() and np.isinf(limit).all()
