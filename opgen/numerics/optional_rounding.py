"""Inputs that a device may read in two ways: what its outputs differ by at most.

It may flush subnormals to zero, and may round or leave what a page allows to be rounded. With any
subset of the elements read the other way an output that is a polynomial in its inputs moves by no
more than its sums of absolute terms are apart, and one that is a function of single elements by no
more than the two goldens are; an output that never reads an input does not change by it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from opgen.numerics.arrays import Array, by_parts
from opgen.numerics.formats import FORMATS, Format, format_of

_DIFFERENCE = 2.0**-50  # two sums of absolute terms and their difference, each rounded to float64


def without_subnormals(
    tensors: Mapping[str, Array | None], read: Collection[str], dtype: str
) -> dict[str, Array | None]:
    """Tensors as a device sees them that flushes every subnormal of the inputs ``read``; ``dtype``
    is what they are read in.
    """
    form = format_of(dtype)
    return {
        name: (
            values
            if values is None or name not in read
            else by_parts(lambda x: np.where(_subnormal(x, form), 0.0, x), values)
        )
        for name, values in tensors.items()
    }


def as_far_apart(
    tensors: Mapping[str, Array | None], otherwise: Mapping[str, Array | None]
) -> dict[str, Array | None]:
    """The size of each element and of what it is apart from its other reading, added up; tensors
    that have one reading as they are.
    """
    result = dict(tensors)
    for name, other in otherwise.items():
        values = tensors[name]
        if values is not None and other is not None:
            result[name] = by_parts(_size_and_step, values, other)
    return result


def _size_and_step(values: Array, others: Array) -> Array:
    size = np.abs(values)
    with np.errstate(invalid="ignore"):
        step = np.where(values == others, 0.0, np.abs(values - others))  # of a NaN, one
    return np.asarray(size + step)


def share(whole: Array, kept: Array, golden: Array, other: Array) -> Array:
    """How far two sums of absolute terms are apart, of which ``whole`` has all that ``kept`` has,
    or two goldens if that is more; rounded up.
    """
    return by_parts(_share, whole, kept, golden, other)


def _share(whole: Array, kept: Array, golden: Array, other: Array) -> Array:
    with np.errstate(invalid="ignore"):
        # Inf less Inf is nothing: where a sum is not finite, no bound speaks
        lost = np.fmax(np.fmax(whole - kept, np.abs(golden - other)), 0.0)
    return np.asarray(np.where(lost > 0, lost + _DIFFERENCE * whole, 0.0))


def has_subnormals(values: Array, dtype: str) -> bool:
    """Whether any value is subnormal in a dtype, or in a compute dtype."""
    form = format_of(dtype)
    return bool(_subnormal(np.ascontiguousarray(values).reshape(-1).view(np.float64), form).any())


def _subnormal(parts: Array, form: Format) -> Array:
    return np.asarray((np.abs(parts) < form.min_normal) & (parts != 0))


def beyond_float(tensors: Mapping[str, Array | None]) -> bool:
    """Whether a tensor has numbers beyond those up to which FLOAT has every whole one."""
    most = 2.0 ** FORMATS["FLOAT"].digits
    return any(a is not None and bool((np.abs(a) > most).any()) for a in tensors.values())
