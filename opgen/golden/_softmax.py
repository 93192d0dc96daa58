"""The softmax family: an axis by its number, and what the forwards save."""

from __future__ import annotations

import numpy as np

from opgen.golden import Array
from opgen.golden._elementwise import Names
from opgen.golden._running_error import total
from opgen.numerics import functions

SPREAD = 1 / 8
"""Of the inputs of a forward: arguments of functions are up to 64, and would leave ones and
zeros."""


def axis(values: Array, names: Names) -> int:
    """The axis ``dim`` of one case, counted in (B, *shape)."""
    return int(names["dim"]) % (values.ndim - 1) + 1


def log_softmax(x: Array, names: Names) -> Array:
    """The logarithm of the softmax of some inputs (B, *shape)."""
    if not x.size or x.ndim == 1:
        return np.zeros_like(x)
    along = axis(x, names)
    small: Array = (x - x.max(axis=along, keepdims=True)) * SPREAD
    return small - functions.log(total(functions.exp(small), along))
