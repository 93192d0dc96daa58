"""What a wrong output is instead, where it is something simple: zeros, a multiple, the same values
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opgen.comparison.measuring import flat
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES

NEAR, APART = 1e-2, 1e-1
"""Relative differences: of values that count as the same, and of values that are clearly others."""


def resembles(device: Array, golden: Array, wrong: Array, dtype: str = "") -> str:
    """In words; empty where nothing fits. ``wrong``: where the device is beyond its bound;
    ``dtype``: of the output.

    >>> golden = np.array([1.0, 2.0, 3.0, 4.0])
    >>> resembles(2 * golden, golden, golden > 0), resembles(golden[::-1], golden, golden > 0)
    ('2 times what is expected', 'reversed along axis 0')
    """
    if device.size < 2 or not wrong.any():
        return ""
    if np.isnan(device).all():
        return "all NaN"
    if not device.any():
        return "all zeros"
    if dtype and _saturates(device, golden, wrong, largest := DTYPES[dtype].part.max):
        return f"{largest:.9g} where Inf is expected: the device saturates {dtype}"
    with np.errstate(all="ignore"):
        if np.isnan(device).any() and not np.isnan(golden).any():
            return "NaN where none belongs"
        if (
            np.iscomplexobj(golden)
            and min(np.abs(golden.real).max(), np.abs(golden.imag).max())
            > NEAR * np.abs(golden).max()
        ):
            if np.allclose(device, golden.conj(), rtol=NEAR, atol=0):
                return "the imaginary part has the other sign"
            if not np.imag(device).any() and np.allclose(
                np.real(device), golden.real, rtol=NEAR, atol=0
            ):
                return "the imaginary part is lost"
        if np.allclose(device, -golden, rtol=NEAR, atol=0):
            return "the sign is reversed"
        some = np.isfinite(golden) & (golden != 0) & np.isfinite(device)
        factors = device[some] / golden[some]
        if len(factors) > 3 and np.abs(factors - 1).max() > NEAR and _is_one_number(factors):
            factor = np.median(factors.real)
            return (
                "the sign is reversed"
                if abs(factor + 1) <= NEAR
                else f"{factor:.4g} times what is expected"
            )
        return next(
            (text for text, moved in _moved(golden) if _is_rather(device, moved, golden, wrong)), ""
        )


def _is_one_number(factors: Array) -> bool:
    """Whether all factors are about the same real number."""
    return bool(
        max(np.ptp(factors.real), np.abs(factors.imag).max()) <= NEAR * np.abs(factors).min()
    )


def _saturates(device: Array, golden: Array, wrong: Array, largest: float) -> bool:
    """Whether the largest value of a format stands wherever an Inf belongs and a finite value is,
    and nothing else is wrong.

    Not all of these need be wrong: the bound may be Inf there.
    """
    device, golden = (flat(np.ascontiguousarray(values).reshape(-1)) for values in (device, golden))
    lost = np.isinf(golden) & np.isfinite(device)
    if not lost.any() or (device[lost] != np.copysign(largest, golden[lost])).any():
        return False
    return bool(np.asarray(lost.reshape(wrong.size, -1).any(axis=1))[wrong.reshape(-1)].all())


def _moved(golden: Array) -> Iterator[tuple[str, Array]]:
    """The golden with its values in other places, and what was done."""
    if golden.ndim > 1:
        yield "the last two axes are exchanged", golden.swapaxes(-1, -2).reshape(golden.shape)
    for axis in range(golden.ndim):
        yield f"reversed along axis {axis}", np.flip(golden, axis)


def _is_rather(device: Array, moved: Array, golden: Array, wrong: Array) -> bool:
    """Whether a device has the moved values everywhere, and most of the wrong ones are clearly not
    those of the golden itself.
    """
    if not np.allclose(device, moved, rtol=NEAR, atol=0):
        return False
    apart = ~np.isclose(moved[wrong], golden[wrong], rtol=APART, atol=0)
    return bool(2 * apart.sum() > len(apart))
