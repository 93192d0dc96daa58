"""The kernel of bilinear upsampling against its definition and torch."""

from __future__ import annotations

import numpy as np

from opgen.golden import kernel
from opgen.numerics.bounds import bound
from tests.golden.upsampling import Names, against_definition, against_torch, linear, run

OP = "upsample_bilinear2d_backward"


def test_definition_and_a_device_with_weights_in_float() -> None:
    against_definition(OP, "HW", linear)


def test_torch() -> None:
    against_torch(OP, "HW", "upsample_bilinear2d_backward")


def test_scales_and_extents_are_both_admitted() -> None:
    names: Names = {"Hin": 3, "Hout": 7, "scalesH": 2.6, "Win": 4, "Wout": 6, "scalesW": 1.7}
    names |= {"alignCorners": 0}
    dy = np.random.default_rng(0).standard_normal((1, 1, 7, 6))
    got, size = run(OP, names, dy), run(OP, names, dy, "magnitude")
    limit = bound(got, size, kernel(OP).depth(names, {}, "out"), "FLOAT")
    by_extents = run(OP, names | {"scalesH": 0.0, "scalesW": 0.0}, dy)
    assert (np.abs(by_extents - got) <= limit).all() and not np.allclose(by_extents, got)
    exact = names | {"scalesH": 7 / 3, "scalesW": 1.5}
    assert np.nanmax(run(OP, exact, dy, "magnitude")) < 2.0**-10 * size.max()
