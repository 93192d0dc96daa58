"""The kernel of bilinear upsampling with scales against its definition and torch."""

from __future__ import annotations

import numpy as np

from opgen.golden import kernel
from opgen.numerics.bounds import bound
from tests.golden.upsampling import Names, against_definition, against_torch, linear, run

OP = "upsample_bilinear2d_backward_v2"
SCALED: Names = {"Hin": 3, "Hout": 7, "scalesH": 2.6, "Win": 4, "Wout": 6, "scalesW": 1.7}


def test_definition_and_a_device_with_weights_in_float() -> None:
    against_definition(OP, "HW", linear)


def test_torch() -> None:
    against_torch(OP, "HW", "upsample_bilinear2d_backward")


def test_scales_decide_and_not_the_extents() -> None:
    names, random = {**SCALED, "alignCorners": 0}, np.random.default_rng(0)
    dy = random.standard_normal((1, 1, 7, 6))
    got, size = run(OP, names, dy), run(OP, names, dy, "magnitude")
    limit = bound(got, size, kernel(OP).depth(names, {}, "out"), "FLOAT")
    by_extents = run(OP, names | {"scalesH": 0.0, "scalesW": 0.0}, dy)
    assert (np.abs(by_extents - got) > limit).any()


def test_any_answer_is_right_where_a_device_may_multiply_inf_by_nothing() -> None:
    """The last column lies on the last element alone: its right neighbour has the weight 0."""
    names = {"Hin": 3, "Hout": 3, "scalesH": 0.0, "Win": 3, "Wout": 5, "scalesW": 0.0}
    names |= {"alignCorners": 1}
    dy = np.ones((1, 1, 3, 5))
    dy[..., 1, 1] = np.inf
    got, size = run(OP, names, dy), run(OP, names, dy, "magnitude")
    assert np.isfinite(got).all()
    assert not np.isfinite(size[0, 0, 1, :2]).any() and np.isfinite(size[0, 0, :, 2][[0]]).all()
    inner = {"Hin": 3, "Hout": 6, "scalesH": 2.0, "Win": 3, "Wout": 6, "scalesW": 2.0}
    dy = np.ones((1, 1, 6, 6))
    dy[..., 2, 2] = np.inf
    answer = run(OP, inner | {"alignCorners": 0}, dy)[0, 0]
    assert np.isinf(answer[:2, :2]).all() and np.isfinite(answer[2]).all()
