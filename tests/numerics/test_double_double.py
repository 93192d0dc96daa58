"""Sums, products and quotients of twice the digits, held against exact fractions."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from opgen.numerics.double_double import (
    DoubleDouble,
    add,
    divide,
    from_decimals,
    multiply,
    two_product,
    two_sum,
)

RNG = np.random.default_rng(3)


def numbers(count: int = 2000, spread: int = 30) -> np.ndarray:
    return RNG.uniform(-2, 2, count) * 2.0 ** RNG.integers(-spread, spread, count)


def pairs(count: int = 2000) -> DoubleDouble:
    high = numbers(count)
    return two_sum(high, high * RNG.uniform(-(2.0**-53), 2.0**-53, count))


def exactly(x: DoubleDouble) -> list[Fraction]:
    return [
        Fraction(high) + Fraction(low)
        for high, low in zip(x.high.tolist(), x.low.tolist(), strict=True)
    ]


def test_sums_and_products_of_two_numbers_have_no_error():
    a, b = numbers(), numbers()
    true = [(Fraction(x), Fraction(y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert exactly(two_sum(a, b)) == [x + y for x, y in true]
    assert exactly(two_product(a, b)) == [x * y for x, y in true]


@pytest.mark.parametrize(
    ("operate", "truth", "bits"),
    [
        (add, lambda x, y: x + y, 103),
        (multiply, lambda x, y: x * y, 101),
        (divide, lambda x, y: x / y, 100),
    ],
)
def test_the_error_is_what_the_docstring_says(operate, truth, bits):
    x, y = pairs(), pairs()
    result = operate(x, y)
    for value, a, b in zip(exactly(result), exactly(x), exactly(y), strict=True):
        true = truth(a, b)
        assert abs(value - true) <= abs(true) / 2**bits
    assert np.array_equal(result.high, result.high + result.low)


def test_the_sum_of_numbers_that_cancel():
    x = pairs()
    y = DoubleDouble(-x.high * (1 + 2.0**-40), -x.low)
    for value, a, b in zip(exactly(add(x, y)), exactly(x), exactly(y), strict=True):
        assert abs(value - (a + b)) <= abs(a + b) / 2**103


def test_decimals_lose_nothing_but_what_two_numbers_cannot_hold():
    number = Decimal("0.1234567890123456789012345678901234567890")
    (value,) = exactly(from_decimals([number]))
    assert abs(value - Fraction(number)) < Fraction(number) / 2**106
