"""The values of aclScalars, each as its dtype has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from opgen.calls import reals
from opgen.calls.kinds import BOOL, DOUBLE
from opgen.calls.vocabulary import vocabulary

TYPES: Mapping[str, np.dtype] = {
    "FLOAT": np.dtype(np.float32),
    "DOUBLE": np.dtype(np.float64),
    "FLOAT16": np.dtype(np.float16),
    "BFLOAT16": np.dtype(ml_dtypes.bfloat16),
    **{
        f"{sign.upper()}INT{bits}": np.dtype(f"{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "BOOL": np.dtype(np.bool_),
}
"""The dtypes that an aclScalar may have."""
EXACT = 2**53
"""Whole numbers beyond it are no values: columns of them are doubles."""


def read(value: Any, dtype: str) -> float | None:
    """What JSON's ``value`` is as a scalar of a dtype; None where it is none.

    >>> read(0.1, "FLOAT"), read(2, "INT32"), read(0.5, "INT32"), read(1, "BOOL")
    (0.10000000149011612, 2, None, None)
    """
    kind = TYPES[dtype]
    if kind.kind == "b":
        truth: bool | None = BOOL.read(value)
        return truth
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        low, high = max(limits.min, -EXACT), min(limits.max, EXACT)
        return value if type(value) is int and low <= value <= high else None
    number = DOUBLE.read(value)
    return None if number is None else reals.rounded(number, kind)


def value_of(number: float, dtype: str) -> float:
    """The value of a scalar, of the double that a column holds."""
    kind = TYPES[dtype].kind if dtype in TYPES else ""
    return bool(number) if kind == "b" else int(number) if kind in "iu" else number


def rounded(values: np.ndarray, dtype: np.ndarray) -> np.ndarray:
    """(rows,) float64: the doubles nearest to some that their dtypes have; NaN is 0 among whole
    numbers.
    """
    result, names = values.astype(np.float64), vocabulary().names["dtype"]
    for number in np.unique(dtype).tolist():
        here, kind = dtype == number, TYPES.get(names[number], np.dtype(np.float64))
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            low, high = max(limits.min, -EXACT), min(limits.max, EXACT)
            result[here] = np.clip(np.trunc(np.nan_to_num(result[here])), low, high)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                result[here] = result[here].astype(kind).astype(np.float64)
    return result


def raw(value: float, dtype: str) -> bytes:
    """The bytes of a scalar, as C has them."""
    held: bytes = np.float64(value).astype(TYPES[dtype]).tobytes()
    return held
