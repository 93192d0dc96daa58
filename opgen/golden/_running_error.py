"""Numbers that carry how far a device may be from them: running error analysis.

A formula is written once, in ordinary arithmetic. Read as float64 it gives the golden; the error
that grows beside it, in units of the device's roundoff, gives the magnitude. Each operation rounds
once, each function is as precise as OpenCL asks of a device, and what an operand is wrong by is
multiplied by the operation's derivative (Higham 2002, 3.3).

>>> x = Tracked.given(np.array([1.0, 100.0]))
>>> (x * x - x).error.tolist()
[1.0, 19900.0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import TypeAlias

import numpy as np

from opgen.golden import Array
from opgen.numerics import functions
from opgen.numerics.formats import FORMATS
from opgen.numerics.rounding import rounded as to_format

Number: TypeAlias = "Tracked | float"
_FLOAT = FORMATS["FLOAT"]
ROUNDOFF = _FLOAT.unit
"""What an error times an error is multiplied by; that of DOUBLE is smaller."""
FLUSHED = _FLOAT.min_normal / _FLOAT.unit
"""What a result may be wrong by where a device knows no subnormals, in units of roundoff."""
ULPS = {"exp": 3.0, "log": 3.0, "tanh": 5.0, "erf": 16.0, "divide": 2.5}
"""Function -> the error in units of the last place that a device may make in single precision
(OpenCL C 3.0, table of section 7.4, full profile); one is at most two roundoffs of the value."""


@dataclass(frozen=True, eq=False)
class Tracked:
    """Numbers as float64; ``error`` in units of roundoff, of the same shape."""

    value: Array
    error: Array

    @classmethod
    def given(cls, value: Array) -> Tracked:
        """What a device reads, without an error unless it flushes subnormals to zero."""
        size = np.abs(value)
        return cls(value, np.where(size < _FLOAT.min_normal, size / ROUNDOFF, 0.0))

    @classmethod
    def of(cls, number: Number) -> Tracked:
        """A number of a formula, which a device rounds unless FLOAT holds it."""
        if isinstance(number, Tracked):
            return number
        inexact = float(np.float32(number)) != number
        return cls(np.asarray(number, dtype=np.float64), np.asarray(abs(number) * inexact))

    def __add__(self, other: Number) -> Tracked:
        b = Tracked.of(other)
        return rounded(self.value + b.value, self.error + b.error)

    def __mul__(self, other: Number) -> Tracked:
        b = Tracked.of(other)
        error = (
            np.abs(b.value) * self.error + (np.abs(self.value) + self.error * ROUNDOFF) * b.error
        )
        return rounded(self.value * b.value, error)

    def __truediv__(self, other: Number) -> Tracked:
        b = Tracked.of(other)
        value = self.value / b.value
        error = (self.error + np.abs(value) * b.error) / (np.abs(b.value) - b.error * ROUNDOFF)
        return rounded(value, error, ULPS["divide"])

    def __neg__(self) -> Tracked:
        return Tracked(-self.value, self.error)

    def __sub__(self, other: Number) -> Tracked:
        return self + -Tracked.of(other)

    def __rsub__(self, other: float) -> Tracked:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def where(self, condition: Array, other: Number, undecided: Array | bool = False) -> Tracked:
        """These numbers where a condition holds, and other ones elsewhere; where a device may find
        it ``undecided``, anything between the two.
        """
        b = Tracked.of(other)
        value = np.where(condition, self.value, b.value)
        error = np.where(condition, self.error, b.error)
        if np.any(undecided):
            apart = np.abs(self.value - b.value) / ROUNDOFF + self.error + b.error
            error = np.where(undecided, apart, error)
        return Tracked(value, error)

    def unless(self, unknown: Array) -> Tracked:
        """These numbers, but for those of which nothing is known: any value is as right as 0."""
        return Tracked(np.where(unknown, 0.0, self.value), np.where(unknown, np.inf, self.error))

    def __getitem__(self, place: tuple[int | slice | EllipsisType | None, ...]) -> Tracked:
        return Tracked(self.value[place], self.error[place])

    def sum(self, axis: int) -> Tracked:
        """The sum along an axis, which stays with extent 1, in whatever order a device adds: in
        each of its roundings any term may take part.
        """
        value = total(self.value, axis)
        sizes = np.abs(self.value).sum(axis=axis, keepdims=True)
        error = self.error.sum(axis=axis, keepdims=True)
        own = max(self.value.shape[axis] - 1, 0) * (sizes + error * ROUNDOFF + FLUSHED)
        return rounded(value, error + own, 0.0, sizes)


def contracted(terms: str, a: Tracked, b: Tracked, count: int) -> Tracked:
    """Sums of ``count`` products each, which ``terms`` names as :func:`numpy.einsum` does, in
    whatever order a device adds them.
    """
    sizes, others = np.abs(a.value), np.abs(b.value)
    value = np.einsum(terms, a.value, b.value)
    size = np.einsum(terms, sizes, others)
    error = np.einsum(terms, a.error, others)
    error += np.einsum(terms, sizes + a.error * ROUNDOFF, b.error)
    own = max(count, 1) * (size + error * ROUNDOFF + FLUSHED)
    return rounded(value, error + own, 0.0, size)


def joined(parts: Sequence[Tracked], axis: int) -> Tracked:
    """Numbers one behind the other along an axis."""
    return Tracked(
        np.concatenate([part.value for part in parts], axis),
        np.concatenate([part.error for part in parts], axis),
    )


def total(values: Array, axis: int) -> Array:
    """The sum along an axis, which stays with extent 1; its bits depend on nothing but the numbers
    that it adds.
    """
    terms = np.ascontiguousarray(values.swapaxes(axis, -1))
    return np.add.reduce(terms, axis=-1, keepdims=True).swapaxes(axis, -1)


def rounded(value: Array, error: Array, ulps: float = 0.5, size: Array | None = None) -> Tracked:
    """A result whose operands make it wrong by an error, and that is rounded itself. Nothing is
    known of what follows from one that may overflow; ``size`` is what a device may reach on the
    way to it, if more than the result.
    """
    size = np.abs(value) if size is None else size
    total = error + (2 * ulps * size + FLUSHED)
    return Tracked(value, np.where(size + total * ROUNDOFF < _FLOAT.max, total, np.inf))


def either(first: Tracked, *others: Tracked) -> Tracked:
    """A value that devices compute by several formulas: that of the first, with the largest
    error.
    """
    return Tracked(first.value, np.maximum.reduce([first.error, *(way.error for way in others)]))


def applied(
    name: str, function: Callable[[Array], Array], slope: Callable[[Array, Array], Array]
) -> Callable[[Tracked], Tracked]:
    """A function of tracked numbers; ``slope`` is its derivative at a number that has a value."""

    def of(x: Tracked) -> Tracked:
        value = function(x.value)
        return rounded(value, np.abs(slope(x.value, value)) * x.error, ULPS[name])

    return of


def rounded_across(values: Array, limit: float) -> Array:
    """Where numbers are what a device may round a limit to, which is another one: it may find them
    on either side.

    >>> rounded_across(np.array([0.1, np.float32(0.1), np.float16(0.1)]), 0.1).tolist()
    [False, True, True]
    """
    held = [float(to_format(np.asarray(limit), name)) for name in ("FLOAT", "FLOAT16", "BFLOAT16")]
    either_side: Array = np.isin(values, held) & (values != limit)
    return either_side


exp = applied("exp", functions.exp, lambda x, value: value)
tanh = applied("tanh", functions.tanh, lambda x, value: 1 - value * value)
erf = applied("erf", functions.erf, lambda x, value: 2 / np.sqrt(np.pi) * functions.exp(-x * x))


def sigmoid(x: Tracked) -> Tracked:
    """``1 / (1 + exp(-x))``, computed so: an error of the exponential counts as far as that is part
    of the sum; then a sum and a quotient.
    """
    value, rest = functions.sigmoid(x.value), functions.sigmoid(-x.value)
    error = value * (rest * (x.error + 2 * ULPS["exp"]) + 1)
    return rounded(value, error, ULPS["divide"])
