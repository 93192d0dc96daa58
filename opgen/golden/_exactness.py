"""Whether a convolution is exact however it is summed: a certificate from the sizes of the data and
the grid that they lie on.

Algorithms on tiles let sums reach more, counted in units of the data, by a factor that
:attr:`opgen.golden._filters.Filter.growth` states.
"""

from __future__ import annotations

from math import inf, ldexp, sqrt

import numpy as np

from opgen.golden import Array
from opgen.golden._columns import pieces
from opgen.golden._convolution import Operands

SAMPLE = 1024  # values from which the grid is guessed
PIECE = 1 << 15  # elements that are looked at together: 256 KiB
SLACK = 1 + 2.0**-20  # for the roundings of the certificate itself
LEAST, PRODUCTS = 1 << 26, 128
"""Products in all, and of an element of either tensor, from which on float32 takes less time."""
SINGLE = 2.0**29
"""How much more room float64 has than float32, for data of :func:`modest` units."""


def room(t: Operands) -> float:
    """How many times larger than now all sums of the gradients that are wanted could be and stay
    exact; 0 where that is unknown.

    Partial sums of gradInput stay below the largest gradOutput times a sum of absolute weights,
    those of gradWeight below the product of two norms (Cauchy and Schwarz). All are multiples of a
    unit; float64 has every multiple up to 2**53.
    """
    size, step = norm(t.dy), unit_of(t.dy)
    needs = [(4 * size, step)]
    if t.gx is not None:
        largest, weights, unit = (
            max(float(t.dy.max()), -float(t.dy.min())),
            absolute(t.w),
            unit_of(t.w),
        )
        needs += [(4 * weights, unit), (largest * weights, step * unit)]
    if t.gw is not None:
        inputs, unit = norm(t.x), unit_of(t.x)
        needs += [(4 * inputs, unit), (size * inputs, step * unit)]
    return min(
        [
            ldexp(unit, 53) / max(bound * SLACK, unit) if bound < inf and unit else 0.0
            for bound, unit in needs
        ]
    )


def modest(t: Operands) -> bool:
    """Whether float32 is worth :func:`room`: there are many products, and the first values let hope
    that sums fit; nor is their unit, if it is that of all, near the ends of its range.
    """
    products = min(t.dy[0, :, 0, 0].size, t.x[0, :, 0, 0].size) * t.w[0].size
    if products < max(LEAST, PRODUCTS * (t.dy[0].size + t.x[0].size)):
        return False
    sizes = []
    for values in (t.dy, t.w, t.x):
        some = values.ravel(order="K")[:SAMPLE]
        unit = quantum(some)
        if not 2.0**-50 <= unit <= 2.0**50:
            return False
        sizes.append(float(some.dot(some)) / unit**2)
    return sizes[0] * max(sizes[1:]) < 2.0**48


def norm(values: Array) -> float:
    """The largest Euclidean norm of a channel of a case, all samples together: (B, N, groups,
    channels, *extents).
    """
    flat = values.reshape(*values.shape[:4], 1, -1)
    return sqrt(float(np.matmul(flat, flat.swapaxes(-1, -2)).sum(axis=1).max()))


def absolute(weight: Array) -> float:
    """The largest sum of absolute weights of a channel of input: (B, groups, channels of input, of
    gradOutput, *taps).
    """
    sums = np.zeros((*weight.shape[:3], *weight.shape[4:]))
    for c in pieces(weight.shape[3], PIECE // (weight.size // weight.shape[3])):
        sums += np.abs(weight[:, :, :, c]).sum(axis=3)
    return float(sums.reshape(*weight.shape[:3], -1).sum(axis=3).max())


def unit_of(values: Array) -> float:
    """A power of two of which all values are multiples: that of the first ones; 0 if it is not that
    of all.

    Only of values below 2**51 times that it can tell.
    """
    flat = values.ravel(order="K")
    cuts = list(pieces(flat.size, PIECE))
    step = next(
        (unit for cut in cuts if (unit := quantum(flat[cut][:SAMPLE]) or quantum(flat[cut]))), 1.0
    )
    constant, memory = ldexp(step, 52) * 1.5, np.empty(PIECE)
    for cut in cuts:
        piece = flat[cut]
        lost = memory[: piece.size]
        np.add(piece, constant, out=lost)
        lost -= constant
        lost -= piece
        if np.bitwise_or.reduce(lost.view(np.int64)):
            return 0.0
    return step


def quantum(values: Array) -> float:
    """The largest power of two of which all values are multiples; 0 if all are 0, or some are not
    finite.
    """
    fractions, exponents = np.frexp(values[values != 0])
    if not fractions.size or not np.isfinite(fractions).all():
        return 0.0
    whole = (fractions * 2.0**53).astype(np.int64)
    _, low = np.frexp((whole & -whole).astype(np.float64))
    return ldexp(1.0, max(int((exponents + low).min()) - 54, -1022))
