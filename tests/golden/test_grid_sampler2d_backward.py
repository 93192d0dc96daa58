"""The gradients of a grid sampler against finite differences, the page's printed weights and
torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from opgen.golden._sampling import (
    BICUBIC,
    BILINEAR,
    BORDER,
    NEAREST,
    REFLECTION,
    ZEROS,
    place,
)
from opgen.golden.grid_sampler2d_backward import depth, golden, magnitude, saved
from tests.golden import torch_or_skip

Names = dict[str, int]
Tensors = dict[str, np.ndarray]
OUTPUTS = ("inputGrad", "gridGrad")
MODES = list(product((BILINEAR, NEAREST, BICUBIC), (ZEROS, BORDER, REFLECTION), (0, 1)))


def call(seed: int, mode: int, padding: int, align: int) -> tuple[Names, Tensors]:
    random = np.random.default_rng(seed)
    channels, rows, columns, down, across = random.integers(1, 6, 5).tolist()
    names = {"Hin": rows, "Win": columns, "interpolationMode": mode, "paddingMode": padding}
    shapes = {"gradOutput": (2, channels, down, across), "input": (2, channels, rows, columns)}
    tensors = {name: random.standard_normal((2, *shape)) for name, shape in shapes.items()}
    tensors["grid"] = random.uniform(-2.5, 2.5, (2, 2, down, across, 2))
    return names | {"alignCorners": align}, tensors


def calls(seed: int, count: int) -> Iterator[tuple[Names, Tensors]]:
    for i in range(count):
        for modes in MODES:
            yield call(seed * 1000 + i, *modes)


def sample(image: np.ndarray, x: float, y: float, names: Names) -> float:
    """One channel at one pair of coordinates, by the forward's definition."""
    rows, columns = image.shape
    mode, padding, align = names["interpolationMode"], names["paddingMode"], names["alignCorners"]

    def inside(at: float, extent: int) -> float:
        if padding == REFLECTION:
            low, high = (0.0, extent - 1.0) if align else (-0.5, extent - 0.5)
            while low < high and not low <= at <= high:
                at = 2 * low - at if at < low else 2 * high - at
        return at if padding == ZEROS else min(max(at, 0.0), extent - 1.0)

    def pixel(j: int, i: int) -> float:
        if mode == BICUBIC:
            j, i = round(inside(j, rows)), round(inside(i, columns))
        return float(image[j, i]) if 0 <= j < rows and 0 <= i < columns else 0.0

    def weight(distance: float) -> float:
        far, a = abs(distance), -0.75
        if mode == BILINEAR:
            return max(0.0, 1 - far)
        if far <= 1:
            return ((a + 2) * far - (a + 3)) * far * far + 1
        return ((a * far - 5 * a) * far + 8 * a) * far - 4 * a if far < 2 else 0.0

    at_x, at_y = (
        (c + 1) / 2 * (extent - 1) if align else ((c + 1) * extent - 1) / 2
        for c, extent in ((x, columns), (y, rows))
    )
    if mode != BICUBIC:
        at_x, at_y = inside(at_x, columns), inside(at_y, rows)
    if mode == NEAREST:
        return pixel(round(at_y), round(at_x))
    left, top = int(np.floor(at_x)), int(np.floor(at_y))
    return sum(
        pixel(j, i) * weight(at_y - j) * weight(at_x - i)
        for j in range(top - 1, top + 3)
        for i in range(left - 1, left + 3)
    )


def loss(names: Names, tensors: Tensors, case: int) -> float:
    gradient, image, grid = (tensors[name][case] for name in ("gradOutput", "input", "grid"))
    return sum(
        gradient[n, c, j, i] * sample(image[n, c], *grid[n, j, i], names)
        for n, c, j, i in np.ndindex(*gradient.shape)
    )


@pytest.mark.parametrize("modes", MODES)
def test_finite_differences_of_the_definition(modes: tuple[int, int, int]) -> None:
    """The loss is linear in the image, and smooth in the grid away from elements."""
    for seed in range(3):
        names, tensors = call(seed, *modes)
        found = golden(tensors, names, OUTPUTS)
        image = tensors["input"][0]
        for name, output, step in (("input", "inputGrad", 1.0), ("grid", "gridGrad", 1e-6)):
            for at in list(np.ndindex(*tensors[name][0].shape))[:: 1 + image.size // 12]:
                ends = []
                for sign in (1, -1):
                    moved = {**tensors, name: tensors[name].copy()}
                    moved[name][(0, *at)] += sign * step
                    ends.append(loss(names, moved, 0))
                slope = (ends[0] - ends[1]) / (2 * step)
                assert abs(slope - found[output][(0, *at)]) < 1e-6 * (1 + abs(slope)), output


@pytest.mark.parametrize("modes", MODES)
def test_torch(modes: tuple[int, int, int]) -> None:
    torch = torch_or_skip()
    for seed in range(20):
        names, tensors = call(seed, *modes)
        found = golden(tensors, names, OUTPUTS)
        for case in range(2):
            arrays = [
                torch.from_numpy(tensors[name][case]) for name in ("gradOutput", "input", "grid")
            ]
            expected = torch.ops.aten.grid_sampler_2d_backward(
                *arrays, *modes[:2], bool(modes[2]), [True, True]
            )
            for output, array in zip(OUTPUTS, expected, strict=True):
                error = np.abs(found[output][case] - array.numpy()).max()
                assert error <= 1e-12 * np.abs(tensors["gradOutput"]).max(), output


def test_a_float_device_stays_within_its_bound_and_a_wrong_one_does_not() -> None:
    torch = torch_or_skip()
    outside = 0
    for names, tensors in calls(5, 12):
        single = {name: array.astype(np.float32) for name, array in tensors.items()}
        wide = {name: array.astype(np.float64) for name, array in single.items()}
        found, size = golden(wide, names, OUTPUTS), magnitude(wide, names, OUTPUTS)
        shapes = {name: array.shape[1:] for name, array in wide.items()}
        modes = names["interpolationMode"], names["paddingMode"], bool(names["alignCorners"])
        arrays = [torch.from_numpy(single[name][0]) for name in ("gradOutput", "input", "grid")]
        answers = torch.ops.aten.grid_sampler_2d_backward(*arrays, *modes, [True, True])
        for output, answer in zip(OUTPUTS, answers, strict=True):
            bound = (1 + depth(names, shapes, output)) * 2.0**-24 * size[output][0]
            error = np.abs(answer.numpy().astype(np.float64) - found[output][0])
            assert (error <= bound).all(), (output, names)
            outside += int((np.abs(0.999 * found[output][0] - found[output][0]) > bound).sum())
    assert outside > 1000


@pytest.mark.parametrize("align", [0, 1])
def test_coordinates_are_exact_and_away_from_ties(align: int) -> None:
    names = {"Hin": 5, "Win": 8, "alignCorners": align}
    drawn = np.random.default_rng(3).uniform(-60, 60, (4, 3, 9, 7, 2))
    grid = saved({"grid": drawn}, names)["grid"]
    assert grid.min() < -1.3 and grid.max() > 1.3
    assert np.array_equal(grid, grid.astype(np.float16))
    for i, extent in enumerate((8, 5)):
        twice = 2 * place(grid[..., i], extent, bool(align))
        assert np.array_equal(twice, twice.astype(np.float32))
        assert np.abs(twice - np.rint(twice)).min() >= 2.0**-6


def test_both_sides_of_a_tie_are_admitted() -> None:
    """In the middle between two elements, either is the nearest."""
    names = {"Hin": 1, "Win": 4, "interpolationMode": 1, "paddingMode": 0, "alignCorners": 0}
    tensors = {
        "gradOutput": np.full((1, 1, 1, 1, 1), 3.0),
        "input": np.ones((1, 1, 1, 1, 4)),
        "grid": np.zeros((1, 1, 1, 1, 2)),
    }
    found = golden(tensors, names, ["inputGrad"])["inputGrad"].reshape(-1)
    size = magnitude(tensors, names, ["inputGrad"])["inputGrad"].reshape(-1)
    bound = depth(names, {"gradOutput": (1, 1, 1, 1)}, "inputGrad") * 2.0**-24 * size
    assert found.tolist() == [0, 0, 3, 0]
    assert bound[1] >= 3 and bound[2] >= 3 and bound[0] == bound[3] == 0


@pytest.mark.parametrize(("mode", "align"), [*product((BILINEAR, NEAREST, BICUBIC), (0, 1))])
def test_far_outside_lies_nothing_or_the_nearer_end(mode: int, align: int) -> None:
    torch = torch_or_skip()
    for padding in (ZEROS, BORDER):
        names, tensors = call(4, mode, padding, align)
        tensors["grid"] = np.copysign(1e12, tensors["grid"])
        found, size = golden(tensors, names, OUTPUTS), magnitude(tensors, names, OUTPUTS)
        modes = mode, padding, bool(align)
        arrays = [torch.from_numpy(tensors[name][0]) for name in ("gradOutput", "input", "grid")]
        expected = torch.ops.aten.grid_sampler_2d_backward(*arrays, *modes, [True, True])
        for output, array in zip(OUTPUTS, expected, strict=True):
            assert np.abs(found[output][0] - array.numpy()).max() <= 1e-12, (output, padding)
            assert np.isfinite(size[output]).all()


@pytest.mark.parametrize(
    ("coordinate", "padding", "left_open"),
    [(np.nan, ZEROS, True), (np.inf, BORDER, True), (1e9, REFLECTION, True), (1e9, ZEROS, False)],
)
def test_a_place_that_nobody_knows_leaves_its_sample_and_image_open(
    coordinate: float, padding: int, left_open: bool
) -> None:
    names, tensors = call(4, BILINEAR, padding, 0)
    tensors["grid"][0, 0, 0, 0, 0] = coordinate
    size = magnitude(tensors, names, OUTPUTS)
    assert np.isinf(size["gridGrad"][0, 0, 0, 0]).all() == left_open
    assert np.isinf(size["inputGrad"][0, 0]).all() == left_open
    assert np.isfinite(size["gridGrad"][1]).all() and np.isfinite(size["inputGrad"][0, 1]).all()
