"""Arithmetic with twice the digits of float64: a number is the unevaluated sum of two.

Only additions, products and quotients of float64 are used, each rounded once as IEEE 754 says, so
that the bits are the same on every processor (Dekker 1971; Joldes, Muller and Popescu 2017).
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

import numpy as np

from opgen.numerics.arrays import Array

_SPLITTER = 2.0**27 + 1


class DoubleDouble(NamedTuple):
    """``high + low``, where ``high`` is that sum rounded to float64."""

    high: Array
    low: Array


def two_sum(a: Array, b: Array) -> DoubleDouble:
    """``a + b`` without error (Knuth).

    >>> two_sum(np.float64(1), np.float64(2.0**-60)) == (1, 2.0**-60)
    True
    """
    total = a + b
    part = total - a
    return DoubleDouble(total, (a - (total - part)) + (b - part))


def two_product(a: Array, b: Array) -> DoubleDouble:
    """``a * b`` without error (Dekker), where neither factor reaches 2**996 and the product is at
    least 2**-969 or 0.
    """
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    return DoubleDouble(
        product,
        a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low),
    )


def add(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """The sum, with a relative error of at most 2**-103."""
    high, low = two_sum(x.high, y.high), two_sum(x.low, y.low)
    return _normal(*_normal(high.high, high.low + low.high), low.low)


def multiply(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """The product, with a relative error of at most 2**-101."""
    high, low = two_product(x.high, y.high)
    return _normal(high, low + (x.high * y.low + x.low * y.high))


def divide(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    """The quotient, with a relative error of at most 2**-100."""
    quotient = x.high / y.high
    exact = multiply(DoubleDouble(quotient, np.zeros_like(quotient)), y)
    return _normal(quotient, ((x.high - exact.high) + (x.low - exact.low)) / y.high)


def from_decimals(numbers: list[Decimal]) -> DoubleDouble:
    """Numbers of many digits, each of the two parts rounded to nearest.

    >>> third = from_decimals([1 / Decimal(3)])
    >>> float(third.high[0]) == 1 / 3, abs(float(third.low[0])) < 2.0**-54
    (True, True)
    """
    high = [float(number) for number in numbers]
    low = [float(number - Decimal(part)) for number, part in zip(numbers, high, strict=True)]
    return DoubleDouble(np.array(high), np.array(low))


def _normal(high: Array, low: Array, rest: Array | float = 0.0) -> DoubleDouble:
    """The same sum, ``high`` being rounded again; ``|low| <= |high|`` or ``high`` is 0."""
    low = low + rest
    total = high + low
    return DoubleDouble(total, low - (total - high))


def _split(a: Array) -> tuple[Array, Array]:
    """Two halves of 26 bits each, whose products are exact."""
    far = _SPLITTER * a
    high = far - (far - a)
    return high, a - high
