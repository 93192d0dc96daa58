"""Matrices of zeros and ones: small planes are multiplied by them where no order of additions can
matter.
"""

from __future__ import annotations

from math import frexp, isfinite, ldexp, prod, sqrt

import numpy as np

from opgen.golden import Array

SMALL = 1 << 9  # elements of the matrix of an axis up to which it is faster than slices


def kronecker(outer: Array, inner: Array) -> Array:
    """The matrix of two axes together."""
    return (outer[:, None, :, None] * inner[:, None, :]).reshape(
        len(outer) * len(inner), outer.shape[1] * inner.shape[1]
    )


def multiply(values: Array, matrices: tuple[Array, ...], order: range, result: Array) -> None:
    """Multiplies the last axes by their matrices, in some order: (copies, ..., *numbers) ->
    (copies, ..., *extents).

    A matrix may be that of all axes together.
    """
    copies, sizes = len(values), [matrix.shape[0] for matrix in matrices]
    for axis in order:
        matrix, rest = matrices[axis], prod(sizes[axis + 1 :])
        number, extent = matrix.shape
        sizes[axis] = extent
        last = axis == order[-1]
        if rest == 1:
            values = np.matmul(
                values.reshape(copies, -1, number),
                matrix,
                out=result.reshape(copies, -1, extent) if last else None,
            )
        else:
            out = result.reshape(copies, -1, extent, rest) if last else None
            values = np.matmul(matrix.T, values.reshape(copies, -1, number, rest), out=out)


def orderless(values: Array, terms: int) -> bool:
    """Whether a sum of so many values is the same in any order, zeros times others included: all
    must be finite.
    """
    squares = float(values.dot(values))
    if terms <= 2:
        return isfinite(squares)
    if not 1e-280 < squares < 1e290:
        return False
    with_unit = ldexp(
        1.5, frexp(sqrt(squares) * terms)[1]
    )  # adding it rounds to 2^-52 of what a sum can reach
    rounded = values + with_unit
    rounded -= with_unit
    return not np.count_nonzero(rounded != values)
