"""exp, log, tanh, erf and their like in float64, with the same bits on every machine.

numpy's own give other bits with AVX-512 than without. Here a function is a table, made with
:mod:`decimal`, and a short polynomial in double-double arithmetic: before the last rounding the
relative error is below 2**-59. So a result is wrong by less than 0.51 units in its last place (one
unit where it is subnormal): it is one of the two numbers beside the true value.

Each function takes and returns float64 arrays of any shape. Inf, NaN, overflow and signed zeros are
answered as Annex F of C99 says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np

from opgen.numerics.arrays import Array, blocks
from opgen.numerics.double_double import (
    DoubleDouble,
    add,
    divide,
    multiply,
    two_product,
    two_sum,
)
from opgen.numerics.function_tables import CENTERS, NODES, STEPS, erf_table, exp_table, log_table


def _elementwise(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function on arrays of any shape, in pieces that stay in cache, without warnings."""

    @wraps(function)
    def whole(*arguments: Array) -> Array:
        arrays = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in arguments))
        flat = [array.reshape(-1) for array in arrays]
        result = np.empty(flat[0].size)
        with np.errstate(all="ignore"):
            for piece in blocks(result.size):
                result[piece] = function(*(array[piece] for array in flat))
        return result.reshape(arrays[0].shape)

    return whole


@_elementwise
def exp(x: Array) -> Array:
    """The exponential.

    >>> exp(np.array([0.0, 1.0, -np.inf])).tolist()
    [1.0, 2.718281828459045, 0.0]
    """
    mantissa, power = _exp(_exactly(np.clip(x, -760.0, 720.0)))
    return np.ldexp(mantissa.high, power)


@_elementwise
def log(x: Array) -> Array:
    """The natural logarithm; NaN below 0.

    >>> log(np.array([1.0, 10.0, 0.0])).tolist()
    [0.0, 2.302585092994046, -inf]
    """
    return _where_positive(x, _log(_exactly(x)).high)


@_elementwise
def log1p(x: Array) -> Array:
    """``log(1 + x)``, precise where ``x`` is near 0; NaN below -1.

    >>> log1p(np.array([-0.0, 1e-20, -1.0])).tolist()
    [-0.0, 1e-20, -inf]
    """
    value = _where_positive(1.0 + x, _log(two_sum(np.ones_like(x), x)).high)
    return np.where(np.abs(x) < 2.0**-55, x, value)


@_elementwise
def sigmoid(x: Array) -> Array:
    """``1 / (1 + exp(-x))``.

    >>> sigmoid(np.array([0.0, 40.0, -np.inf])).tolist()
    [0.5, 1.0, 0.0]
    """
    mantissa, power = _exp(_exactly(-np.clip(np.abs(x), 0.0, 760.0)))
    small = DoubleDouble(np.ldexp(mantissa.high, power), np.ldexp(mantissa.low, power))
    whole = add(_exactly(np.ones_like(x)), small)
    left = np.ldexp(divide(mantissa, whole).high, power)
    return np.where(x < 0, left, divide(_exactly(np.ones_like(x)), whole).high)


@_elementwise
def tanh(x: Array) -> Array:
    """The hyperbolic tangent.

    >>> tanh(np.array([-0.0, 1.0, np.inf])).tolist()
    [-0.0, 0.7615941559557649, 1.0]
    """
    less = _expm1(2.0 * np.clip(np.abs(x), 0.0, 20.0))
    value = divide(less, add(less, _exactly(np.full_like(x, 2.0)))).high
    return np.where(np.abs(x) < 2.0**-28, x, np.copysign(value, x))


@_elementwise
def erf(x: Array) -> Array:
    """The error function.

    >>> erf(np.array([-0.0, 1.0, -np.inf])).tolist()
    [-0.0, 0.8427007929497149, -1.0]
    """
    size, (values, slopes, terms) = np.clip(np.abs(x), 0.0, 6.0), erf_table()
    scale = np.where(size < 2.0**-100, 2.0**200, 1.0)  # products of tiny numbers lose digits
    node = np.rint(np.where(np.isnan(x), 0.0, size) * NODES).astype(np.intp)
    h = size * scale - node / NODES * scale
    rest = np.zeros_like(x)
    for coefficient in reversed(terms):
        rest = h * (coefficient[node] + rest)
    rest = np.where(scale == 1.0, rest, 0.0)
    slope = add(_take(slopes, node), _exactly(rest))
    value = add(_take(values, node), multiply(slope, _exactly(h))).high / scale
    return np.copysign(value, x)


@_elementwise
def power(x: Array, y: Array) -> Array:
    """``x ** y``; NaN where ``x`` is negative and ``y`` no whole number.

    >>> power(np.array([2.0, -2.0, 0.0]), np.array([0.5, 3.0, 0.0])).tolist()
    [1.4142135623730951, -8.0, 1.0]
    """
    size = np.abs(x)
    ordinary = np.isfinite(x) & np.isfinite(y) & (x != 0) & (size != 1)
    times = np.clip(np.where(ordinary, y, 0.0), -(2.0**70), 2.0**70)
    exponent = multiply(_log(_exactly(np.where(ordinary, size, 1.0))), _exactly(times))
    inside = np.abs(exponent.high) < 760.0
    mantissa, scale = _exp(
        DoubleDouble(np.clip(exponent.high, -760.0, 760.0), np.where(inside, exponent.low, 0.0))
    )
    odd = np.abs(np.fmod(y, 2.0)) == 1.0
    value = np.ldexp(mantissa.high, scale)
    value = np.where((x < 0) & odd, -value, value)
    value = np.where((x < 0) & (np.rint(y) != y), np.nan, value)
    return np.where(ordinary, value, _power_of_the_rest(x, y, odd))


def _power_of_the_rest(x: Array, y: Array, odd: Array) -> Array:
    """``x ** y`` where either is infinite or NaN, or ``x`` is 0, 1 or -1."""
    size = np.abs(x)
    grows = (size > 1) == (y > 0)  # |x| ** y is infinite rather than 0
    value = np.where(size == 1, 1.0, np.where(grows, np.inf, 0.0))
    value = np.where(np.signbit(x) & odd, -value, value)
    value = np.where((x == -1) & np.isfinite(y) & (np.rint(y) != y), np.nan, value)
    value = np.where(np.isnan(x) | np.isnan(y), np.nan, value)
    return np.where((y == 0) | (x == 1), 1.0, value)


def _exactly(x: Array) -> DoubleDouble:
    return DoubleDouble(x, np.zeros_like(x))


def _take(table: DoubleDouble, index: Array) -> DoubleDouble:
    return DoubleDouble(table.high[index], table.low[index])


def _where_positive(
    x: Array, value: Array, at_zero: float = -np.inf, at_infinity: float = np.inf
) -> Array:
    """The value where ``x`` is positive and finite, and what belongs to the rest."""
    edges = np.where(x == 0, np.copysign(at_zero, x) if at_zero > 0 else at_zero, np.nan)
    edges = np.where(x == np.inf, at_infinity, edges)
    return np.where((x > 0) & (x < np.inf), value, edges)


def _exp(x: DoubleDouble) -> tuple[DoubleDouble, Array]:
    """A mantissa from 1 to 2 and a power of two whose product is ``exp(x)``; of finite ``x``, or of
    NaN, between -760 and 760.

    With ``r = x - n * log(2) / 64``, ``|r| < 2**-7.5``, the mantissa is ``2 ** (j / 64) * exp(r)``.
    """
    roots, (first, second, third) = exp_table()
    n = np.where(np.isnan(x.high), 0.0, np.rint(x.high * (1 / first)))
    r = add(two_sum(x.high - n * first, -n * second), DoubleDouble(x.low, np.zeros_like(n)))
    r = add(r, two_product(n, np.full_like(n, -third)))
    number = n.astype(np.int32)
    root = _take(roots, number % STEPS)
    return add(root, multiply(root, _small_expm1(r))), number // STEPS


def _small_expm1(r: DoubleDouble) -> DoubleDouble:
    """``exp(r) - 1`` for ``|r| < 2**-7.5``, with a relative error below 2**-69."""
    square = multiply(r, r)
    rest = np.full_like(r.high, 1 / 40320)
    for factorial in (5040, 720, 120, 24, 6):
        rest = 1 / factorial + r.high * rest
    half = DoubleDouble(square.high / 2, square.low / 2)
    return add(add(r, half), _exactly(rest * r.high * square.high))


def _expm1(x: Array) -> DoubleDouble:
    """``exp(x) - 1`` between -50 and 50, with a relative error below 2**-64."""
    mantissa, power = _exp(_exactly(x))
    whole = DoubleDouble(np.ldexp(mantissa.high, power), np.ldexp(mantissa.low, power))
    rough = add(whole, _exactly(np.full_like(x, -1.0)))
    near = np.abs(x) < 2.0**-8
    fine = _small_expm1(_exactly(np.where(near, x, 0.0)))
    return DoubleDouble(np.where(near, fine.high, rough.high), np.where(near, fine.low, rough.low))


def _log(x: DoubleDouble) -> DoubleDouble:
    """The logarithm of a positive number.

    With ``x = 2**e * m`` and ``c`` the node of the table beside ``m``: ``e * log(2) + log(c) +
    log1p(m / c - 1)``.
    """
    mantissa, power = np.frexp(np.where((x.high > 0) & (x.high < np.inf), x.high, 1.0))
    small = mantissa < 0.7071067811865476
    mantissa, power = np.where(small, 2 * mantissa, mantissa), power - small
    logs, inverses, (first, rest) = log_table()
    node = np.rint(mantissa * CENTERS).astype(np.intp) - CENTERS // 2
    inverse = inverses[node]
    product = two_product(mantissa, inverse)
    z = add(
        DoubleDouble(product.high - 1.0, product.low),
        _exactly(np.ldexp(np.where(np.isfinite(x.low), x.low, 0.0), -power) * inverse),
    )
    octaves = add(
        _exactly(power * first), multiply(_exactly(power + 0.0), _take(rest, np.zeros_like(node)))
    )
    return add(add(octaves, _take(logs, node)), _small_log1p(z))


def _small_log1p(z: DoubleDouble) -> DoubleDouble:
    """``log(1 + z)`` for ``|z| < 2**-7``, with a relative error below 2**-66."""
    square = multiply(z, z)
    rest = np.full_like(z.high, 1 / 13)
    for number in range(12, 2, -1):
        rest = 1 / number - z.high * rest
    half = DoubleDouble(square.high / -2, square.low / -2)
    return add(add(z, half), _exactly(rest * z.high * square.high))
