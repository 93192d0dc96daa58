"""Periodic values: numbers that come again and again along every axis of a tensor, so that sums
along any of them stay small, and neighbours differ.
"""

from __future__ import annotations

import numpy as np

from opgen.numerics.arrays import Array
from opgen.numerics.input_tensor import InputTensor


def places(tensor: InputTensor, further: int) -> Array:
    """(count,) int64: how far each element is from the first: one step an element along the last
    axis, and so many more along each axis before it.
    """
    place = np.zeros(tensor.shape, dtype=np.int64)
    for behind, extent in enumerate(reversed(tensor.shape)):
        place += np.arange(extent).reshape(-1, *(1,) * behind) * (1 + behind * further)
    return np.asarray(np.repeat(place.reshape(-1), tensor.parts))


BALANCED = np.array(
    [1, 2, 2, -1, 2, 2, -3, 1, 3, 2, 2, -2, -3, -3, 2, -3]
    + [3, -2, 3, 3, 2, -2, -2, -3, -1, 3, -2, -2, 1, -2, -3]
)
"""None is 0, but their sum is; those of residues of 31 that are squares are positive."""
TWO_OR_THREE = np.array([3, 3, 2, 3, 3, 3, 2, 2, 2, 3, 2])
"""3 where a residue of 11 is a square: with numbers of the other cycle no sum grows, either."""
