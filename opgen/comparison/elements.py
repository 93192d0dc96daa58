"""Which elements of an output are right: the definition by which outputs are judged, explained and
compared with errata.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opgen.numerics.arrays import Array


class Errors(NamedTuple):
    """Of every element its error, error / bound, and whether it is beyond the bound."""

    error: Array
    ratio: Array
    wrong: Array


def errors(device: Array, golden: Array, bound: Array) -> Errors:
    """The errors of elements of any dtypes, in float64; of complex ones those of the worse part.

    A value equals its golden if both are the same number, the same infinity, or both NaN; otherwise
    the error is Inf wherever one of them is not finite. An infinite bound admits everything.

    >>> answer, golden = np.array([1.5, np.nan, np.inf]), np.array([1.0, np.nan, 2.0])
    >>> errors(answer, golden, np.array([0.25, 0.0, np.inf])).wrong.tolist()
    [True, False, False]
    """
    if np.iscomplexobj(golden):
        parts = [
            errors(device.real, golden.real, bound.real),
            errors(device.imag, golden.imag, bound.imag),
        ]
        return Errors(*map(np.maximum, *parts))
    with np.errstate(all="ignore"):  # a NaN may be a signalling one
        device, golden, bound = (
            np.asarray(values, dtype=np.float64) for values in (device, golden, bound)
        )
        error = np.where(
            (device == golden) | (np.isnan(device) & np.isnan(golden)),
            0.0,
            np.where(np.isfinite(golden) & np.isfinite(device), np.abs(device - golden), np.inf),
        )
        free = bound == np.inf
        ratio = np.divide(error, bound, out=np.zeros_like(error), where=error > 0)
        ratio[free] = 0.0
        return Errors(error, ratio, (error > bound) & ~free)
