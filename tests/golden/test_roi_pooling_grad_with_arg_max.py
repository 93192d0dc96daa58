"""The gradient of RoI pooling: by the page's formula, part by part, by a device that goes through
the elements of images instead, and what the page leaves open.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opgen.golden.roi_pooling_grad_with_arg_max import depth, golden, magnitude, saved
from opgen.numerics.bounds import bound
from tests.golden import distance

Names = dict[str, Any]
Tensors = dict[str, np.ndarray]
OUT = "gradInputRef"


def call(seed: int) -> tuple[Names, Tensors]:
    """Names, and two cases with the boxes and indices that suites have."""
    random = np.random.default_rng(seed)
    letters = ("roisN", "C", "Hout", "Wout", "N", "H", "W")
    sizes = random.integers([1, 1, 1, 1, 1, 2, 1], [6, 4, 4, 4, 4, 9, 9]).tolist()
    names: Names = dict(zip(letters, sizes, strict=True))
    names |= {"spatialScale": float(random.choice([0.25, 1.0, 2.0]))}
    images = 2, *(names[letter] for letter in "NCHW")
    parts = 2, *(names[letter] for letter in ("roisN", "C", "Hout", "Wout"))
    drawn = {"rois": random.standard_normal((*parts[:2], 5)), OUT: random.standard_normal(images)}
    return names, {"gradOutput": random.standard_normal(parts), **saved(drawn, names)}


def by_formula(names: Names, of: Tensors) -> np.ndarray:
    """Lines 34 and 38: what an index of at least 1 names gets the gradient of its part."""
    out = np.zeros(of[OUT].shape)
    for case, box, channel, i, j in np.ndindex(*of["gradOutput"].shape):
        index = int(of["argmax"][case, box, channel, i, j])
        if index >= 1:
            image = int(of["rois"][case, box, 0])
            row, column = divmod(index, names["W"])
            out[case, image, channel, row, column] += of["gradOutput"][case, box, channel, i, j]
    return out


def device(names: Names, of: Tensors) -> np.ndarray:
    """Element by element: the parts of all boxes of an image that name it, in FLOAT."""
    out = np.zeros(of[OUT].shape, dtype=np.float32)
    for case, image, row, column in np.ndindex(2, names["N"], names["H"], names["W"]):
        mine = (of["rois"][case, :, 0] == image)[:, None, None, None]
        here = mine & (of["argmax"][case] == row * names["W"] + column)
        terms = np.where(here, of["gradOutput"][case], 0).astype(np.float32)
        out[case, image, :, row, column] = terms.sum(axis=(0, 2, 3), dtype=np.float32)
    return out


def limits(names: Names, of: Tensors) -> tuple[np.ndarray, np.ndarray]:
    """The golden, and its bound."""
    got, size = (function(of, names, [OUT])[OUT] for function in (golden, magnitude))
    return got, bound(got, size, depth(names, {}, OUT), "FLOAT")


@pytest.mark.parametrize("seed", range(20))
def test_definition_and_a_device_of_another_order(seed: int) -> None:
    names, of = call(seed)
    got, limit = limits(names, of)
    assert distance(got, by_formula(names, of)) <= 1e-15
    assert (np.abs(device(names, of) - got) <= limit).all()
    turned = device(names, {**of, "argmax": of["argmax"][..., ::-1, ::-1]})
    same = (of["argmax"] == of["argmax"][..., ::-1, ::-1]).all()
    assert same or (np.abs(turned - got) > limit).any()


@pytest.mark.parametrize("seed", range(20))
def test_suites_hold_boxes_and_indices_that_the_page_admits(seed: int) -> None:
    names, of = call(seed)
    image, x1, x2, y1, y2 = np.moveaxis(of["rois"], -1, 0)
    assert (x1 < x2).all() and (y1 < y2).all() and (of["rois"] >= 0).all()
    assert (image < names["N"]).all() and not of[OUT].any()
    scale = names["spatialScale"]
    assert (x2 * scale <= max(names["W"] - 1, 1)).all()
    assert (y2 * scale <= max(names["H"] - 1, 1)).all()
    rows, columns = np.divmod(of["argmax"], names["W"])
    first = (of["argmax"] == 1) | (rows >= (y1 * scale)[..., None, None, None])
    assert first.all() and (rows <= (y2 * scale)[..., None, None, None]).all()
    assert (columns <= np.maximum(x2 * scale, 1)[..., None, None, None]).all()
    assert (of["argmax"] >= 1).all() and (of["argmax"] < names["H"] * names["W"]).all()


def test_the_example_of_the_page() -> None:
    names = {"roisN": 1, "C": 32, "Hout": 2, "Wout": 2, "N": 4, "H": 3, "W": 3}
    of = {
        "gradOutput": np.ones((1, 1, 32, 2, 2)),
        OUT: np.ones((1, 4, 32, 3, 3)),
        "rois": np.array([[[0.0, 0, 1, 0, 1]]]),
        "argmax": np.full((1, 1, 32, 2, 2), 3),
    }
    got, limit = limits(names, of)
    assert (got[0, 0, :, 1, 0] == 4).all() and got.sum() == 4 * 32
    assert (limit >= 1).all() and limit.max() < 3, "a device may add to what was there"
    assert limits(names, {**of, OUT: 0 * of[OUT]})[1].max() < 1e-5


def doubtful(**given: float) -> tuple[np.ndarray, np.ndarray]:
    """A box of a part in one of two images of four elements."""
    names = {"roisN": 1, "C": 1, "Hout": 1, "Wout": 1, "N": 2, "H": 2, "W": 2}
    held = np.zeros((1, 2, 1, 2, 2))
    held[0, 0, 0, 0, 0] = given.get("held", 0.0)
    boxes = np.array([[[given.get("image", 0.0), 0, 1, 0, 1]]])
    index = np.full((1, 1, 1, 1, 1), given.get("index", 1.0))
    of = {"gradOutput": np.full(index.shape, 5.0), "rois": boxes, "argmax": index, OUT: held}
    got, limit = limits(names, of)
    return got.reshape(2, 4), limit.reshape(2, 4)


def test_the_index_0_counts_or_not() -> None:
    """Line 38 leaves it out, though it names an element."""
    got, limit = doubtful(index=0.0)
    assert not got.any() and limit[0, 0] >= 5 and not limit.reshape(-1)[1:].any()
    got, limit = doubtful(index=-1.0)
    assert not got.any() and not limit.any()
    got, limit = doubtful()
    assert got[0].tolist() == [0, 5, 0, 0] and limit.max() < 1e-5


def test_what_was_there_may_stay() -> None:
    got, limit = doubtful(held=3.0)
    assert got[0].tolist() == [0, 5, 0, 0] and limit[0, 0] >= 3 and limit.reshape(-1)[1:].max() < 1
    assert np.isinf(doubtful(held=np.nan)[1][0, 0])


@pytest.mark.parametrize("given", [{"index": 4.0}, {"image": 2.0}, {"image": np.inf}])
def test_an_index_of_no_element_leaves_all_open(given: dict[str, float]) -> None:
    assert np.isinf(doubtful(**given)[1]).all()


def test_no_output_is_computed_that_is_not_asked_for() -> None:
    names, of = call(0)
    assert golden(of, names, []) == magnitude(of, names, []) == {}
