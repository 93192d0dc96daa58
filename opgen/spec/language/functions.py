"""The functions of the rule language, on whole columns.

Each takes and returns :class:`Value`. Where a divisor is zero, or the mathematics defines nothing,
the value is unbound: the rule that asks does not apply there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np

from opgen.calls import bigint, reals
from opgen.calls.kinds import REAL
from opgen.calls.vocabulary import vocabulary
from opgen.spec.language.value import Value, all_bound, constant_value


def combine(operate: Callable[[np.ndarray, np.ndarray], np.ndarray], a: Value, b: Value) -> Value:
    """Add, subtract or compare-select two numbers after bringing them over one divisor."""
    if a.over == b.over:
        return Value(operate(a.data, b.data), all_bound(a, b), a.over)
    left, right = over_one_divisor(a, b)
    return Value(operate(left, right), all_bound(a, b), a.over * b.over)


def over_one_divisor(a: Value, b: Value) -> tuple[np.ndarray, np.ndarray]:
    """The two numerators once both stand over the product of the divisors."""
    if a.over == b.over:
        return a.data, b.data
    return bigint.multiply(a.data, bigint.as_column(b.over)), bigint.multiply(
        b.data, bigint.as_column(a.over)
    )


def exact(a: Value, b: Value) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers, of which one is real, such that numpy compares what they are, not what they
    are rounded to.
    """
    data = np.asarray(a.data), np.asarray(b.data)
    if a.over == b.over == 1 and all(map(_are_doubles, data)):
        return data[0].astype(np.float64), data[1].astype(np.float64)
    return _python_numbers(a), _python_numbers(b)


def _are_doubles(data: np.ndarray) -> bool:
    if data.dtype.kind == "f":
        return True
    low, high = bigint.extremes(data)
    return low >= -(2**53) and high <= 2**53


def _python_numbers(a: Value) -> np.ndarray:
    data = np.asarray(a.data).astype(object)
    return data if a.over == 1 else np.asarray(data * Fraction(1, a.over), dtype=object)


def in_steps(a: Value, b: Value, unit: str) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers, in whole steps of the finer: of whole ones the numerators over one divisor, of
    reals of the type ``unit`` the places among all such numbers.
    """
    if unit not in REAL:
        return over_one_divisor(a, b)
    with np.errstate(over="ignore", invalid="ignore"):
        sides = [np.asarray(value.data, dtype=np.float64) / value.over for value in (a, b)]
        left, right = (reals.ordinals(side.astype(REAL[unit])) for side in sides)
    return left, right


def multiply(a: Value, b: Value) -> Value:
    """The product, exact."""
    return Value(bigint.multiply(a.data, b.data), all_bound(a, b), a.over * b.over)


def divided(a: Value, by: int) -> Value:
    """True division by a positive constant, kept exact as a fraction."""
    return Value(a.data, a.bound, a.over * by)


def floor_divide(a: Value, b: Value) -> Value:
    """Floor division of whole numbers; unbound where the divisor is 0."""
    return Value(bigint.floor_divide(a.data, b.data), all_bound(a, b) & (b.data != 0))


def remainder(a: Value, b: Value) -> Value:
    """``a`` modulo ``b``; unbound where ``b`` is 0."""
    return Value(bigint.remainder(a.data, b.data), all_bound(a, b) & (b.data != 0))


def truncated(a: Value, b: Value) -> Value:
    """The quotient of whole numbers without its fraction, as C++ divides; unbound where ``b`` is
    0.
    """
    floor, rest = floor_divide(a, b), remainder(a, b)
    return Value(floor.data + ((rest.data != 0) & ((a.data < 0) != (b.data < 0))), floor.bound)


def whole(a: Value) -> Value:
    """The number itself, without a divisor; unbound where it is no whole number."""
    if a.over == 1:
        return a
    by = bigint.as_column(a.over)
    return Value(bigint.floor_divide(a.data, by), a.bound & (bigint.remainder(a.data, by) == 0))


def minimum(*values: Value) -> Value:
    """The smallest of some numbers; unbound where one is."""
    return reduce(lambda a, b: combine(bigint.smaller, a, b), values)


def maximum(*values: Value) -> Value:
    """The largest of some numbers; unbound where one is."""
    return reduce(lambda a, b: combine(bigint.larger, a, b), values)


def absolute(a: Value) -> Value:
    """The number without its sign."""
    return maximum(a, minus(constant_value(0), a))


def promote(*values: Value) -> Value:
    """The dtype that the pages' promotion gives, taken from left to right; unbound where there is
    none.
    """
    table = vocabulary().promoted

    def pair(a: Value, b: Value) -> Value:
        known = (a.data >= 0) & (b.data >= 0)
        result = np.where(known, table[np.maximum(a.data, 0), np.maximum(b.data, 0)], -1)
        return Value(result, all_bound(a, b) & (result >= 0))

    return reduce(pair, values)


def higher(a: Value, b: Value) -> Value:
    """The dtype of higher precision of the two: the one that their promotion equals; unbound where
    it is neither.
    """
    to = promote(a, b)
    return Value(to.data, to.bound & ((to.data == a.data) | (to.data == b.data)))


def first(*values: Value) -> Value:
    """The first of some values that is bound."""
    return reduce(lambda a, b: Value(np.where(a.bound, a.data, b.data), a.bound | b.bound), values)


def plus(*values: Value) -> Value:
    """The sum."""
    return reduce(lambda a, b: combine(bigint.add, a, b), values)


def minus(a: Value, b: Value) -> Value:
    """The difference."""
    return combine(bigint.subtract, a, b)


def negative(a: Value) -> Value:
    """The number below zero that is as large."""
    return minus(constant_value(0), a)


_ONE = constant_value(1)


def conv_out(size: Value, kernel: Value, stride: Value, padding: Value, dilation: Value) -> Value:
    """Extent of a convolution's output; ``padding`` is begin plus end.

    floor((size + padding - dilation * (kernel - 1) - 1) / stride) + 1
    """
    reach = plus(multiply(dilation, minus(kernel, _ONE)), _ONE)
    out = plus(floor_divide(minus(plus(size, padding), reach), stride), _ONE)
    return Value(out.data, out.bound & (stride.data > 0))


def transposed_out(
    size: Value, kernel: Value, stride: Value, padding: Value, dilation: Value, extra: Value
) -> Value:
    """Extent of a transposed convolution's output; ``padding`` is begin plus end, ``extra`` the
    output padding.

    (size - 1) * stride - padding + dilation * (kernel - 1) + extra + 1
    """
    grown = plus(
        multiply(minus(size, _ONE), stride), multiply(dilation, minus(kernel, _ONE)), extra, _ONE
    )
    out = minus(grown, padding)
    return Value(out.data, out.bound & (stride.data > 0))


def pooled(size: Value, kernel: Value, stride: Value, padding: Value, ceil: Value) -> Value:
    """Extent of a pooling's output; ``padding`` stands on both sides.

    Rounded up where ``ceil``, and then one less where the last window would start beyond input and
    begin padding.
    """
    span = minus(plus(size, padding, padding), kernel)
    room = minus(stride, _ONE)
    grown = np.where(ceil.data, plus(span, room).data, span.data)
    out = plus(floor_divide(Value(grown, all_bound(span, room, ceil)), stride), _ONE)
    late = bigint.multiply(minus(out, _ONE).data, stride.data) >= plus(size, padding).data
    trimmed = np.where(np.asarray(ceil.data, dtype=bool) & late, minus(out, _ONE).data, out.data)
    return Value(trimmed, out.bound & (stride.data > 0))


def scaled(size: Value, scale: Value) -> Value:
    """Extent of an upsampling's output: floor(size * scale), computed in double as in C; -1 where
    that is NaN or beyond the whole numbers that a double can tell apart.
    """
    with np.errstate(all="ignore"):
        out = np.floor(np.asarray(size.data).astype(np.float64) * scale.data)
    return Value(
        np.where(np.abs(out) < 2.0**53, out, -1.0).astype(np.int64), all_bound(size, scale)
    )


@dataclass(frozen=True)
class Function:
    """A function of the rule language: what it takes, what it gives, how many arguments, and
    whether these may be fractions.
    """

    apply: Callable[..., Value]
    takes: tuple[str, ...]
    gives: str
    at_least: int
    at_most: int
    fractions: bool = False


FUNCTIONS: dict[str, Function] = {
    "min": Function(minimum, ("int",), "int", 2, 9, fractions=True),
    "max": Function(maximum, ("int",), "int", 2, 9, fractions=True),
    "abs": Function(absolute, ("int",), "int", 1, 1, fractions=True),
    "truncated": Function(truncated, ("int",), "int", 2, 2),
    "promote": Function(promote, ("dtype",), "dtype", 2, 9),
    "higher": Function(higher, ("dtype",), "dtype", 2, 2),
    "first": Function(first, ("dtype",), "dtype", 2, 9),
    "conv_out": Function(conv_out, ("int",), "int", 5, 5),
    "transposed_out": Function(transposed_out, ("int",), "int", 6, 6),
    "pooled": Function(pooled, ("int", "int", "int", "int", "bool"), "int", 5, 5),
    "scaled": Function(scaled, ("int", "double"), "int", 2, 2),
}
