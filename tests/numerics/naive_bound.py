"""The bound of one element in rational numbers, written from the theory that
`opgen.numerics.bounds` names, formula by formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf

from opgen.numerics.formats import FORMATS, Format

TWO = Fraction(2)


def gamma(depth: int, digits: int) -> Fraction | None:
    """Higham's gamma; None where the theory ends."""
    total = depth * TWO**-digits
    return total / (1 - total) if total < 1 else None


def binade(value: Fraction, low: int) -> Fraction:
    """The power of two at or below a value of 0 or more, at least 2**low."""
    digits = value.numerator.bit_length() - value.denominator.bit_length()
    exponent = max(low, digits - 1) if value else low  # at most, and within two
    while TWO ** (exponent + 1) <= value:
        exponent += 1
    return TWO**exponent


def nearest(value: Fraction, form: Format) -> Fraction:
    """To nearest, ties to even; values beyond the largest are left to the caller."""
    step = binade(abs(value), form.low) * TWO ** (1 - form.digits)
    return round(value / step) * step  # Python rounds halves to even


def beyond(form: Format) -> Fraction:
    """From here on round to nearest gives Inf."""
    return (TWO - TWO**-form.digits) * TWO**form.high


def sum_error(
    magnitude: Fraction,
    depth: int,
    form: Format,
    quantum: Fraction | None,
    share: Fraction,
    gain: Fraction,
) -> tuple[Fraction, bool]:
    """How far a sum of ``form`` may be from one of float64, and whether it may overflow on its
    way.
    """
    own, grown = gamma(depth, 53), gamma(depth, form.digits)
    if grown is None or own is None:
        return Fraction(0), True
    most = magnitude * (1 + 2 * own)  # the magnitude is itself a float64 sum
    smallest = TWO**form.low
    exact = quantum is not None and most <= TWO**form.digits * quantum
    nothing = magnitude == 0 or (
        exact and quantum is not None and quantum >= smallest
    )  # that a device could flush
    flushed = Fraction(0) if nothing else 2 * depth * smallest * gain * (1 + grown)
    error = (Fraction(0) if exact else grown * most) + flushed + share
    if quantum is None or most > TWO**53 * quantum:
        error += own * most
    return error, most * (1 + grown) + flushed >= (TWO - TWO ** (1 - form.digits)) * TWO**form.high


def naive_bound(
    golden: float | Fraction,
    magnitude: float | Fraction,
    depth: int,
    chain: Sequence[str],
    kept: str,
    quantum: float | None = None,
    share: float | Fraction = 0.0,
    gain: float = 1.0,
) -> Fraction | float:
    """The bound of a device that sums in ``chain[0]`` and rounds to the others in turn; the golden
    is ``kept`` in a dtype.
    """
    centre, first = Fraction(golden), FORMATS[chain[0]]
    step = None if quantum is None else Fraction(quantum)
    radius, lost = sum_error(
        Fraction(magnitude), depth, first, step, Fraction(share), Fraction(gain)
    )
    vanishes = False
    for form in [FORMATS[name] for name in chain[1:]]:
        largest = abs(centre) + radius
        vanishes |= abs(centre) < TWO**form.low + radius
        lost |= largest >= beyond(form)
        if radius == 0:
            centre = nearest(centre, form)
        else:
            radius += min(binade(largest, form.low) * TWO**-form.digits, largest)
    if lost:
        return inf
    reference = nearest(Fraction(golden), FORMATS[kept])
    total = radius + abs(centre - reference)
    return max(total, abs(reference)) if vanishes else total
