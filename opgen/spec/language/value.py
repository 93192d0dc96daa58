"""A column of numbers or truths, and where it is bound."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any, NamedTuple

import numpy as np

from opgen.calls import bigint


class Value(NamedTuple):
    """A column and where it is bound. ``data / over`` is the number meant; ``over`` is a positive
    constant.

    ``data`` has shape (rows,) or () for a constant; for the kind ``shape`` it is the pair (rank,
    extents (rows, width)).
    """

    data: Any
    bound: Any = True
    over: int = 1


def all_bound(*values: Value) -> Any:
    """Where all values are bound."""
    bounds = [v.bound for v in values if v.bound is not True]
    return reduce(and_, bounds) if bounds else True


def is_true(value: Value) -> np.ndarray:
    """Where a truth is bound and true."""
    truth = np.asarray(value.data, dtype=bool)
    return truth if value.bound is True else np.asarray(truth & value.bound)


def constant_value(number: float) -> Value:
    """A constant column of shape (): a whole number, a truth or a real."""
    return Value(bigint.as_column(number) if type(number) is int else np.asarray(number))
