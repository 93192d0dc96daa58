"""Ways to draw the numbers of a tensor whose dtype has whole numbers only."""

from __future__ import annotations

from math import ceil, floor, isqrt

import numpy as np

from opgen.numerics.arrays import Array
from opgen.numerics.draw import Draw, between
from opgen.numerics.formats import DTYPES
from opgen.numerics.input_tensor import InputTensor


def _indices(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
    """Whole numbers from the first of the tensor's range to the last; one in four is one of these
    two, so that both occur, and several times.
    """
    low, high = tensor.range or DTYPES[tensor.dtype].limits
    first, last = ceil(low), min(floor(high), ceil(low) + 2**32 - 1)
    drawn = between(lanes[0].copy(), first, last)
    way = lanes[1] >> np.uint64(29)
    drawn[way == 0], drawn[way == 1] = first, last
    return drawn.astype(np.float64)


def _whole_numbers(lanes: Array, choice: Array, tensor: InputTensor) -> Array:
    """Whole numbers of the tensor's range, or so small that the product of two is one of its dtype
    and of FLOAT. One in four is beside a threshold, or 0 or 1.
    """
    least, largest = tensor.range or DTYPES[tensor.dtype].limits
    most = min(isqrt(DTYPES[tensor.dtype].limits[1]), 4095)
    low, high = (least, largest) if tensor.range else (max(least, -most), most)
    drawn = between(lanes[0].copy(), ceil(low), min(floor(high), ceil(low) + 2**32 - 1))
    way = lanes[1] >> np.uint64(30)
    near = np.array(
        [0, 1, *(floor(limit) + side for limit in tensor.thresholds for side in (-1, 0, 1, 2))]
    )
    near = near[(near >= low) & (near <= high)]
    if len(near):
        beside = near[(lanes[1] & np.uint64(0xFFFF)) % np.uint64(len(near))]
        drawn = np.where(way == 0, beside, drawn)
    return drawn.astype(np.float64)


WHOLE_NUMBERS = Draw(
    2,
    _whole_numbers,
    lambda tensor: 1.0,
    lambda tensor: (tensor.dtype, tensor.range, tensor.thresholds),
)
INDICES = Draw(2, _indices, lambda tensor: 1.0, lambda tensor: (tensor.dtype, tensor.range))
