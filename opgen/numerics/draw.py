"""A way to draw the numbers of a tensor, and integers from random bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from opgen.numerics.arrays import Array
from opgen.numerics.input_tensor import InputTensor

Values: TypeAlias = Callable[[Array, Array, InputTensor], Array]
"""(lanes (lanes, B, count) and one choice (B,), both uint64, tensor) -> float64 (B, count)."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A way to draw one tensor: its 32-bit lanes per value, and what all its finite values are
    multiples of.

    Tensors of the same ``key`` are drawn alike, each value from its own lanes alone,
    whatever the shape; without a key, values depend on where they stand. ``sparse``: few of them
    say anything, at places that a kernel may restrict; ``planted``: because they are or become Inf
    or NaN. ``steps``: values are those of :func:`from_steps`, so three numbers say how to draw
    them.
    """

    lanes: int
    values: Values
    quantum: Callable[[InputTensor], float] | None = None
    key: Callable[[InputTensor], tuple[object, ...]] | None = lambda tensor: (
        tensor.dtype,
        tensor.compute,
        tensor.bits,
        tensor.range,
        tensor.scale,
    )
    sparse: bool = False
    planted: bool = False
    steps: Callable[[InputTensor], tuple[int, int, int]] | None = None


def between(lane: Array, low: int, high: int) -> Array:
    """Integers low..high, both included: the high half of lane * count; at most 2**32 of them."""
    steps = lane * np.uint64(high - low + 1)
    steps >>= np.uint64(32)
    whole: Array = steps.view(np.int64)
    whole += low
    return whole


def nonzero(lane: Array, low: int, high: int) -> Array:
    """The same without 0, so that no term of a sum is lost."""
    if low < 0 < high:
        whole = between(lane, low, high - 1)
        whole += whole >= 0
        return whole
    return between(lane, low + (low == 0 < high), high - (high == 0 > low))


def scaled(whole: Array, exponent: int) -> Array:
    """Whole numbers times ``2**exponent``, as float64."""
    values = whole.astype(np.float64)
    values *= 2.0**exponent
    return values


def from_steps(lane: Array, low: int, high: int, exponent: int) -> Array:
    """Random words below 2**32 -> ``step * 2**exponent`` for a step low..high, both included, that
    is not 0. The words are overwritten.

    >>> from_steps(np.array([0, 2**31, 2**32 - 1], dtype=np.uint64), -1, 1, 3).tolist()
    [-8.0, 8.0, 8.0]
    """
    return scaled(nonzero(lane, low, high), exponent)
