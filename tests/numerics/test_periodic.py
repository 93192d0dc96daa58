"""Numbers in cycles along every axis: sums stay small, no element is 0, and blocks differ."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.numerics.fill import draw, keys
from opgen.numerics.input_tensor import InputTensor, Role
from opgen.numerics.periodic import BALANCED, TWO_OR_THREE, places

BLOCKS = (1, 2, 8, 16, 24, 40, 48, 64, 128, 256, 512, 1024, 4096)


def test_cycles_have_prime_lengths_and_no_zero() -> None:
    assert (len(BALANCED), len(TWO_OR_THREE)) == (31, 11)
    assert BALANCED.sum() == 0 and set(BALANCED.tolist()) == {-3, -2, -1, 1, 2, 3}
    assert set(TWO_OR_THREE.tolist()) == {2, 3}


def test_places_count_more_steps_along_outer_axes() -> None:
    tensor = InputTensor("x", (2, 3), "FLOAT", "FLOAT")
    assert places(tensor, 0).tolist() == [0, 1, 2, 1, 2, 3]
    assert places(tensor, 1).tolist() == [0, 1, 2, 2, 3, 4]
    parts = InputTensor("x", (2,), "COMPLEX64", "FLOAT")
    assert places(parts, 1).tolist() == [0, 0, 1, 1]


def drawn(shape: tuple[int, ...], role: Role) -> np.ndarray:
    tensor = InputTensor("x", shape, "FLOAT", "FLOAT", role=role)
    return draw("partial_sums", keys(0, ["a", "b", "c"]), tensor)


@pytest.mark.parametrize("shape", [(10**5,), (3, 5, 7000), (300, 400), (50, 60, 70)])
def test_sums_along_any_axes_stay_small(shape: tuple[int, ...]) -> None:
    gradient, operand = drawn(shape, "gradient"), drawn(shape, "operand")
    for axis in range(1, 1 + len(shape)):
        assert np.abs(gradient.cumsum(axis)).max() <= 20
        assert np.abs((gradient * operand).cumsum(axis)).max() <= 64
    assert np.abs(gradient.reshape(3, -1).cumsum(1)).max() <= 64
    assert (gradient != 0).all() and set(np.unique(operand)) == {2, 3}


def test_blocks_differ_and_so_do_cases() -> None:
    gradient = drawn((20_000,), "gradient")
    for block in BLOCKS:
        assert (gradient[:, block:] != gradient[:, :-block]).mean() > 0.7, block
    assert all((gradient[0] != other).any() for other in gradient[1:])
