"""The tables of :mod:`opgen.numerics.functions`, made with :mod:`decimal` when one is asked for."""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache
from itertools import accumulate

import numpy as np

from opgen.numerics.arrays import Array
from opgen.numerics.double_double import DoubleDouble, from_decimals

STEPS = 64
"""Of the table of exp in one octave."""
CENTERS = 128
"""Of the table of log in one unit."""
NODES = 16
"""Of the table of erf in one unit."""
TERMS = 14
"""Of the polynomial of erf around each node."""
DIGITS = 60
"""Of the decimal numbers that tables are made from."""


@cache
def exp_table() -> tuple[DoubleDouble, tuple[float, float, float]]:
    """The roots ``2 ** (j / 64)``, and ``log(2) / 64`` in three parts, the first two of 34 bits."""
    with localcontext(prec=DIGITS):
        roots = [(Decimal(2).ln() * j / STEPS).exp() for j in range(STEPS)]
        return from_decimals(roots), _in_parts(Decimal(2).ln() / STEPS, 34)


@cache
def log_table() -> tuple[DoubleDouble, Array, tuple[float, DoubleDouble]]:
    """For the nodes from 1/2 to 3/2: minus the logarithms of their inverses, rounded to 24 bits,
    and these; and ``log(2)`` in a first part of 42 bits and a rest.
    """
    nodes = np.arange(CENTERS // 2, 3 * CENTERS // 2 + 1) / CENTERS
    inverses = (1 / nodes).astype(np.float32).astype(np.float64)
    with localcontext(prec=DIGITS):
        logs = [-Decimal(inverse).ln() for inverse in inverses.tolist()]
        first, *_ = _in_parts(Decimal(2).ln(), 42)
        return (
            from_decimals(logs),
            inverses,
            (first, from_decimals([Decimal(2).ln() - Decimal(first)])),
        )


@cache
def erf_table() -> tuple[DoubleDouble, DoubleDouble, Array]:
    """At each node: erf, its derivative, and the further coefficients of its Taylor polynomial,
    (TERMS, nodes).
    """
    with localcontext(prec=DIGITS):
        rows = [_erf_series(Decimal(node) / NODES) for node in range(6 * NODES + 1)]
    values, slopes, *rest = zip(*rows, strict=True)
    return (
        from_decimals(list(values)),
        from_decimals(list(slopes)),
        np.array([[float(number) for number in term] for term in rest]),
    )


def _erf_series(c: Decimal) -> list[Decimal]:
    """The Taylor coefficients of erf at ``c``.

    Those of its derivative, ``2 / sqrt(pi) * exp(-x * x)``, follow from ``f' = -2 * x * f``.
    """
    slope = 2 / _pi().sqrt() * (-c * c).exp()
    # erf(c) = slope * (c + 2 c**3 / 3 + 4 c**5 / 15 + ...), whose terms are all positive
    term, value, k, smallest = c, Decimal(0), 0, Decimal(10) ** -DIGITS
    while term > smallest:
        value, k = value + term, k + 1
        term = term * 2 * c * c / (2 * k + 1)
    derivative = [slope, -2 * c * slope]
    for n in range(1, TERMS):
        derivative.append(-2 * (c * derivative[n] + derivative[n - 1]) / (n + 1))
    return [slope * value, *(a / (n + 1) for n, a in enumerate(derivative[: TERMS + 1]))]


def _pi() -> Decimal:
    """Pi by Machin's formula, in the current precision."""

    def arctangent(inverse: int) -> Decimal:
        terms = accumulate(
            range(DIGITS), lambda t, _: -t / inverse**2, initial=1 / Decimal(inverse)
        )
        return sum((t / (2 * k + 1) for k, t in enumerate(terms)), Decimal(0))

    return 4 * (4 * arctangent(5) - arctangent(239))


def _in_parts(number: Decimal, bits: int) -> tuple[float, float, float]:
    """Three numbers whose sum it is, the first two of so few bits."""
    parts = []
    for _ in range(2):
        mantissa, exponent = np.frexp(float(number))
        part = float(np.ldexp(np.trunc(mantissa * 2.0**bits), exponent - bits))
        parts.append(part)
        number -= Decimal(part)
    return parts[0], parts[1], float(number)
