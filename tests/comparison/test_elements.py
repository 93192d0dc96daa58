"""Which elements are right: numbers, infinities and NaN beside theirs, complex values by parts."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.comparison.elements import errors

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("device", "golden", "bound", "error", "ratio", "wrong"),
    [
        (1.0, 1.0, 0.0, 0.0, 0.0, False),
        (0.0, -0.0, 0.0, 0.0, 0.0, False),
        (1.25, 1.0, 0.25, 0.25, 1.0, False),
        (1.5, 1.0, 0.25, 0.5, 2.0, True),
        (1.5, 1.0, 0.0, 0.5, INF, True),
        (-1.0, 1.0, 3.0, 2.0, 2 / 3, False),
        (INF, INF, 0.0, 0.0, 0.0, False),
        (-INF, INF, 0.0, INF, INF, True),
        (NAN, NAN, 0.0, 0.0, 0.0, False),
        (NAN, 1.0, 0.5, INF, INF, True),
        (1.0, NAN, 0.5, INF, INF, True),
        (INF, NAN, 0.5, INF, INF, True),
        (1.0, INF, 0.5, INF, INF, True),
        (NAN, 1.0, INF, INF, 0.0, False),
        (INF, 1.0, INF, INF, 0.0, False),
        (7.0, 1.0, INF, 6.0, 0.0, False),
    ],
)
def test_a_number(
    device: float, golden: float, bound: float, error: float, ratio: float, wrong: bool
) -> None:
    found = errors(*(np.array([value]) for value in (device, golden, bound)))
    assert (found.error[0], found.ratio[0], found.wrong[0]) == (error, ratio, wrong)


PARTS = [(1 + 1j, False, 0.0), (1.5 + 1j, True, 2.0), (1 + 0.5j, True, 5.0), (2 + 0.5j, True, 5.0)]


@pytest.mark.parametrize(("device", "wrong", "ratio"), PARTS)
def test_a_complex_number_is_as_wrong_as_the_worse_of_its_parts(
    device: complex, wrong: bool, ratio: float
) -> None:
    found = errors(np.array([device]), np.array([1 + 1j]), np.array([0.25 + 0.1j]))
    assert (found.wrong[0], found.ratio[0]) == (wrong, ratio)


def test_any_shape() -> None:
    device = np.arange(6.0).reshape(2, 3)
    assert errors(device, device + 1, np.full((2, 3), 0.5)).wrong.shape == (2, 3)
    assert bool(errors(np.array(1.0), np.array(2.0), np.array(0.5)).wrong)
