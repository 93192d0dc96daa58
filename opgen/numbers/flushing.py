"""Subnormal inputs, which a device may flush to zero: what its outputs lose by it at most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from opgen.numbers.numerics import Array, Format, format_of

Golden: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, int], Any], Mapping[str, Array]]


def flushed_magnitude(
    magnitude: Golden,
    tensors: Mapping[str, Array | None],
    names: Mapping[str, int],
    wanted: Any,
    formats: Mapping[str, str],
) -> dict[str, Array] | None:
    """Sum of ``|term|`` over terms with a subnormal factor, for :func:`opgen.numbers.bounds.bound`; None where no input is subnormal.

    ``magnitude`` is that of an operator linear in each tensor; ``formats`` names the format that each is read in.
    With every subset of the subnormal inputs flushed to zero, no output moves by more.
    """
    total: dict[str, Array] | None = None
    for name, values in tensors.items():
        if values is None or name not in formats:
            continue
        form = format_of(formats[name])
        parts = np.asarray(values, order="C").view(np.float64)
        small = _subnormal(parts, form)
        if small.any():
            only = np.where(small, parts, 0.0).view(values.dtype)
            share = magnitude({**tensors, name: only}, names, wanted)
            total = {key: share[key] + (total[key] if total else 0.0) for key in share}
    return total


def has_subnormals(values: Array, dtype: str) -> bool:
    """Whether any value is subnormal in a dtype, or in a compute dtype."""
    form = format_of(dtype)
    return bool(_subnormal(np.ascontiguousarray(values).reshape(-1).view(np.float64), form).any())


def _subnormal(parts: Array, form: Format) -> Array:
    return np.asarray((np.abs(parts) < form.min_normal) & (parts != 0))
