"""What a wrong output is instead: said where it is so, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from opgen.comparison.likeness import resembles
from opgen.numerics.formats import DTYPES

RAMP = np.arange(1.0, 61.0).reshape(3, 4, 5)
VECTOR = np.array([3.0, -1.0, 4.0, -1.0, 5.0])


def said(device, golden, limit: float = 1e-6, dtype: str = "") -> str:
    with np.errstate(all="ignore"):
        wrong = ~((device == golden) | (np.abs(device - golden) <= limit))
    return resembles(device, golden, wrong, dtype)


@pytest.mark.parametrize(
    ("device", "golden", "words"),
    [
        (RAMP.swapaxes(1, 2).reshape(RAMP.shape), RAMP, "the last two axes are exchanged"),
        (RAMP[:, ::-1] * 1.002, RAMP, "reversed along axis 1"),
        (VECTOR[::-1], VECTOR, "reversed along axis 0"),
        (VECTOR[::-1].reshape(5, 1), VECTOR.reshape(5, 1), "reversed along axis 0"),
        (-VECTOR, VECTOR, "the sign is reversed"),
        (RAMP / 2, RAMP, "0.5 times what is expected"),
    ],
)
def test_what_is_so_is_said(device, golden, words):
    assert said(device, golden) == words


@pytest.mark.parametrize(
    "golden",
    [
        RAMP,
        VECTOR,
        VECTOR.reshape(5, 1),
        VECTOR.reshape(1, 5),
        np.ones((3, 3)),
        np.ones(4),
        np.array([[1.0, 2.0], [2.004, 3.0]]),
        np.array([1.0, 2.0, 3.0, 2.0, 1.004]),
        np.array([1.0, 1.0, 1.0, 2.0]),
    ],
    ids=lambda golden: str(golden.shape),
)
def test_values_in_their_places_are_not_said_to_be_in_others(golden):
    assert said(golden * 1.002, golden) == ""
    for at in range(golden.size):
        for factor in (1.002, 1.5):
            device = golden.copy()
            device.reshape(-1)[at] *= factor
            assert said(device, golden) == "", (at, factor)


def test_an_exchange_does_not_explain_what_is_wrong_where_it_changes_nothing():
    golden = np.ones((6, 6))
    golden[0, 1] = 2
    assert said(golden.T, golden) == "the last two axes are exchanged"
    assert said(golden.T * 1.005, golden) == ""


@pytest.mark.parametrize(
    ("dtype", "largest"),
    [("FLOAT16", "65504"), ("BFLOAT16", "3.38953139e+38"), ("COMPLEX64", "3.40282347e+38")],
)
def test_a_device_that_saturates(dtype, largest):
    imaginary = 1j if DTYPES[dtype].complex else 0.0
    real, limit = np.array([1.0, np.inf, 3.0, -np.inf]), DTYPES[dtype].part.max
    golden, device = real + imaginary, np.clip(real, -limit, limit) + imaginary
    assert (
        said(device, golden, dtype=dtype)
        == f"{largest} where Inf is expected: the device saturates {dtype}"
    )
    assert said(np.where(np.isinf(golden), 7, golden), golden, dtype=dtype) == ""
    assert said(-device, -golden, dtype=dtype) == said(device, golden, dtype=dtype)
    assert "saturates" not in said(np.where(np.isinf(golden), -device, golden), golden, dtype=dtype)


def test_a_device_that_saturates_is_wrong_nowhere_else():
    golden, device = np.array([1.0, np.inf, 3.0, 4.0]), np.array([1.0, 65504.0, 3.0, 4.0])
    assert "saturates" in said(device, golden, dtype="FLOAT16")
    assert said(np.array([7.0, 65504.0, -6.0, 80.0]), golden, dtype="FLOAT16") == ""
    limited = np.array([True, False, True, True])  # the bound is Inf where Inf belongs
    assert resembles(np.array([7.0, 65504.0, -6.0, 80.0]), golden, limited, "FLOAT16") == ""
    more = np.array([np.inf, np.inf, 3.0, 4.0])
    assert "saturates" in resembles(
        np.array([65504.0, 65504.0, 3.0, 4.0]), more, limited & (more > 4), "FLOAT16"
    )


def test_a_multiple_of_complex_values_is_a_real_one():
    golden = np.exp(1j * np.arange(1.0, 7.0)) * np.arange(1.0, 7.0)
    assert said(golden * 3, golden) == "3 times what is expected"
    assert [
        said(device, golden) for device in (golden * 1j, golden * (0.5 + 1j), golden.conj() * 2)
    ] == [""] * 3
    assert (
        said(np.array([1, 2, 3, 4]) * -1j, np.array([1, 2, 3, 4]) * 1j * (1 + 1e-12j))
        == "the sign is reversed"
    )


def test_what_became_of_imaginary_parts():
    golden = np.exp(1j * np.arange(1.0, 7.0)) * np.arange(1.0, 7.0)
    assert said(golden.conj(), golden) == "the imaginary part has the other sign"
    assert said(golden.real + 0j, golden) == "the imaginary part is lost"
    assert said(golden.imag + 0j, golden) == ""
    assert said(-golden, golden) == "the sign is reversed"
