"""Subnormal inputs, which a device may flush to zero: what its outputs lose by it at most."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from opgen.numbers.numerics import Array, Format, by_parts, format_of

_DIFFERENCE = 2.0**-50  # two sums of absolute terms and their difference, each rounded to float64


def without_subnormals(tensors: Mapping[str, Array | None], read: Collection[str], dtype: str) -> dict[str, Array | None]:
    """Tensors as a device sees them that flushes every subnormal of the inputs ``read``; ``dtype`` is what they are read in."""
    form = format_of(dtype)
    return {
        name: values if values is None or name not in read else by_parts(lambda x: np.where(_subnormal(x, form), 0.0, x), values)
        for name, values in tensors.items()
    }


def flushed_share(whole: Array, kept: Array) -> Array:
    """Sum of ``|term|`` over terms with a subnormal factor: all there are, less those of :func:`without_subnormals`.

    With any subset of the subnormal inputs flushed to zero, no output moves by more, since it is a polynomial in its inputs, and
    every term that is lost then is lost here. An output that never reads an input does not change by it.
    """
    return by_parts(_share, whole, kept)


def _share(whole: Array, kept: Array) -> Array:
    with np.errstate(invalid="ignore"):
        lost = np.fmax(whole - kept, 0.0)  # Inf less Inf is nothing: where a sum is not finite, no bound speaks
    return np.asarray(np.where(lost > 0, lost + _DIFFERENCE * whole, 0.0))


def has_subnormals(values: Array, dtype: str) -> bool:
    """Whether any value is subnormal in a dtype, or in a compute dtype."""
    form = format_of(dtype)
    return bool(_subnormal(np.ascontiguousarray(values).reshape(-1).view(np.float64), form).any())


def _subnormal(parts: Array, form: Format) -> Array:
    return np.asarray((np.abs(parts) < form.min_normal) & (parts != 0))
