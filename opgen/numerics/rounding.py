"""Roundings to the vendor's formats, units in the last place, and how far two values are apart.

Every rounding starts from float64 and happens once. Going through float32 on the way to BFLOAT16
would round twice: ``1 + 2**-8 + 2**-40`` must become ``1 + 2**-7``, but float32 first drops the
last term and leaves a tie, which goes to 1. All functions are element by element, so their bits
depend on nothing but the values.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from opgen.numerics.arrays import Array, by_parts, in_blocks
from opgen.numerics.formats import DTYPES, FORMATS, Format, format_of

VERSION = 1
"""Raised by hand whenever anything is rounded otherwise; a test sees to it."""

_EXPONENT = np.int64(0x7FF0_0000_0000_0000)
"""The bits of a float64 that hold its exponent."""


def binade(values: Array, low: int) -> Array:
    """The power of two at or below each ``|value|``, at least ``2**low``; Inf for Inf and NaN."""
    values = np.asarray(values, dtype=np.float64, order="C")
    power: Array = np.asarray(values.view(np.int64) & _EXPONENT).view(np.float64)
    return np.maximum(power, 2.0**low, out=power)


def rounded(values: Array, to: str, mantissa: int = 11) -> Array:
    """Round float64 values once to a format of :data:`FORMATS` or a dtype of :data:`DTYPES`; the
    result is float64.

    FLOAT16, BFLOAT16 and FLOAT round to nearest, ties to even, overflow to Inf. HFLOAT32 keeps
    ``mantissa`` explicit bits (11 on Atlas A2 and A3) and rounds ties away from zero; Inf and NaN
    stay what they are. Complex values are rounded by parts.

    >>> float(rounded(np.array(1 + 2.0**-8 + 2.0**-40), "BFLOAT16"))
    1.0078125
    """
    if np.iscomplexobj(values):
        return by_parts(lambda part: rounded(part, to, mantissa), values)
    values = np.asarray(values, dtype=np.float64)
    part = format_of(to)
    if part.name == "DOUBLE":
        return values.copy()
    if part.name == "HFLOAT32":
        return in_blocks(lambda block: _away(block, part, mantissa + 1), np.float64, values)
    if part.name == "BFLOAT16":
        return in_blocks(lambda block: _even(block, part), np.float64, values)
    with np.errstate(
        over="ignore", under="ignore", invalid="ignore"
    ):  # numpy rounds float64 to these two directly
        return values.astype(DTYPES[part.name].numpy).astype(np.float64)


def in_compute(values: Array, storage: str, to: str) -> Array:
    """What is computed with of values of a storage dtype: one rounding to the compute dtype, none
    where that holds them all.

    Those of DOUBLE and complex dtypes are computed with as they are.
    """
    return values if as_they_are(storage, to) else rounded(values, to)


def as_they_are(storage: str, to: str) -> bool:
    """Whether no value of a storage dtype is rounded before it is computed with in another."""
    part = DTYPES[storage].part.name
    return DTYPES[storage].complex or part == "DOUBLE" or holds(to, part)


def holds(to: str, other: str) -> bool:
    """Whether every value of another format is one of this.

    >>> holds("HFLOAT32", "FLOAT16"), holds("FLOAT16", "BFLOAT16")
    (True, False)
    """
    form, held = format_of(to), format_of(other)
    return form.digits >= held.digits and form.low <= held.low and form.high >= held.high


@cache
def kept_in(compute: str, output: str) -> str | None:
    """The dtype that a result is stored in before it is cast to that of its output: the compute
    dtype, if anything is stored in it that its output may not hold as well.

    >>> kept_in("FLOAT16", "FLOAT"), kept_in("FLOAT16", "FLOAT16"), kept_in("HFLOAT32", "FLOAT")
    ('FLOAT16', None, None)
    >>> kept_in("FLOAT", "FLOAT16"), kept_in("FLOAT", "DOUBLE")
    (None, 'FLOAT')

    For complex numbers, the dtype of their parts.

    >>> kept_in("COMPLEX64", "COMPLEX128"), kept_in("COMPLEX64", "COMPLEX64")
    ('FLOAT', None)
    """
    single, double = compute in ("FLOAT", "COMPLEX64"), output in ("DOUBLE", "COMPLEX128")
    if single and double:
        return "FLOAT"
    return compute if compute in ("FLOAT16", "BFLOAT16") and output != compute else None


def _even(values: Array, to: Format) -> Array:
    """Nearest, ties to even: adding ``1.5 * 2**52`` quanta leaves the hardware no room below one
    quantum.
    """
    inside = np.clip(values, -2 * to.max, 2 * to.max)
    shift = binade(inside, to.low)
    shift *= 1.5 * 2.0 ** (53 - to.digits)
    result = (inside + shift) - shift
    result = np.where(np.abs(result) > to.max, np.inf, result)
    return np.asarray(np.copysign(result, values))  # the sign of zero, and of what became zero


def _away(values: Array, to: Format, digits: int) -> Array:
    """Nearest, ties away from zero."""
    size = np.abs(values)
    finite = np.isfinite(size)
    inside = np.where(finite, np.minimum(size, 2.0 ** (to.high + 1)), 0.0)
    quantum = binade(inside, to.low)
    quantum *= 2.0 ** (1 - digits)
    steps = inside / quantum
    whole = np.floor(steps)
    whole = whole + (steps - whole >= 0.5)
    result = whole * quantum
    result = np.where(result >= 2.0 ** (to.high + 1), np.inf, result)
    return np.asarray(np.copysign(np.where(finite, result, size), values))


def is_tie(values: Array, mantissa: int = 11) -> Array:
    """Which values lie exactly between two neighbours of HFLOAT32 with so many explicit bits; there
    public sources disagree.
    """
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        steps = np.abs(values) / (binade(values, FORMATS["HFLOAT32"].low) * 2.0**-mantissa)
        return np.asarray(steps - np.floor(steps) == 0.5)


def stored(values: Array, dtype: str) -> Array:
    """Round float64 (complex128) values once to a storage dtype, as an array of that dtype."""
    kind = DTYPES[dtype].numpy
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(values if kind.kind in "fc" else rounded(values, dtype)).astype(
            kind
        )  # numpy rounds to its own types once


def ulp(values: Array, dtype: str) -> Array:
    """The unit in the last place at each value: the gap to the next value away from zero, as
    float64.

    Subnormals have the gap of the smallest normal; Inf and NaN have NaN. Real values only.

    >>> float(ulp(np.array(1.0), "FLOAT16")) == 2.0**-10
    True
    """
    part = FORMATS[dtype]
    with np.errstate(invalid="ignore"):
        gap: Array = binade(values, part.low) * 2.0 ** (1 - part.digits)
    return np.where(np.isfinite(values), gap, np.nan)
