"""The gradient of dropout as a product, read bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.dropout_v3_grad import golden, saved


@pytest.mark.parametrize("shape", [(2, 3, 35), (128,), ()])
def test_bits(shape: tuple[int, ...]) -> None:
    dy = np.random.default_rng(1).integers(1, 9, (2, *shape)).astype(float)
    mask = saved({"gradY": dy}, {})["mask"]
    found = golden({"gradY": dy, "mask": mask}, {"scale": 1.25}, ["gradX"])["gradX"]
    for case in range(2):
        for i, g in enumerate(dy[case].ravel()):
            bit = int(mask[case, i // 8]) >> i % 8 & 1
            assert found[case].ravel()[i] == g * bit * 1.25


def test_a_product_with_0_keeps_what_is_no_number() -> None:
    """Unlike a device that selects, line 28 of the page."""
    dy = np.array([[np.inf, np.nan, 3.0]])
    of = {"gradY": dy, "mask": np.zeros((1, 16))}
    with np.errstate(invalid="ignore"):
        found = golden(of, {"scale": 2.0}, ["gradX"])["gradX"]
    assert np.array_equal(found, [[np.nan, np.nan, 0.0]], equal_nan=True)
