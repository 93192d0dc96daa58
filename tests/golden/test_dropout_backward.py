"""The gradient of dropout by a mask of bits, read bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.golden.dropout_backward import both, golden, saved


@pytest.mark.parametrize("shape", [(2, 3, 35), (128,), (257,)])
@pytest.mark.parametrize("scale", [1.25, 1.0, 0.0])
def test_bits(shape: tuple[int, ...], scale: float) -> None:
    dy = np.random.default_rng(1).integers(1, 9, (2, *shape)).astype(float)
    mask = saved({"gradOutput": dy}, {})["mask"]
    found = golden({"gradOutput": dy, "mask": mask}, {"scale": scale}, ["out"])["out"]
    for case in range(2):
        for i, g in enumerate(dy[case].ravel()):
            kept = int(mask[case, i // 8]) >> i % 8 & 1 or scale == 1
            assert found[case].ravel()[i] == (g * scale if kept else 0)


def test_masks_read_the_same_from_either_end_of_a_byte() -> None:
    mask = saved({"gradOutput": np.zeros((1, 1000))}, {})["mask"][0].astype(int)
    assert len(mask) == 128 and len(set(mask.tolist())) == 16
    assert all(f"{byte:08b}" == f"{byte:08b}"[::-1] for byte in mask.tolist())


def test_what_is_dropped_of_inf_may_be_anything() -> None:
    dy = np.array([[np.inf, np.nan, 1.0]])
    values, sizes = both({"gradOutput": dy, "mask": np.zeros((1, 16))}, {"scale": 2.0}, ["out"])
    assert values["out"].tolist() == [[0, 0, 0]]
    assert np.isinf(sizes["out"]).tolist() == [[True, True, False]]
