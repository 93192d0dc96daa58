"""Goldens and magnitudes by the same code: alone, or in one call, which costs small data less than
two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from opgen.golden import Array


class Copies(NamedTuple):
    """What a call computes of every case: a number of copies, the last from absolute terms or
    not.
    """

    number: int
    absolute: bool


GOLDEN, MAGNITUDE, BOTH = Copies(1, False), Copies(1, True), Copies(2, True)


def copied(array: Array, copies: Copies) -> Array:
    """(copies, ...): real values as they are, their absolute values, or both."""
    if not copies.absolute:
        return array[None]
    result = np.empty((copies.number, *array.shape))
    result[0] = array
    np.abs(array, result[-1])
    return result


def stacked(array: Array, copies: Copies) -> Array:
    """(copies * B, ...): the cases as they are, their absolute values, or both; by parts where they
    are complex: ``|re| + i |im|``.
    """
    if not copies.absolute:
        return array
    complex_ = array.dtype.kind == "c"
    sizes = (
        np.abs(np.ascontiguousarray(array).view(np.float64)).view(array.dtype)
        if complex_
        else np.abs(array)
    )
    return np.concatenate((array, sizes)) if copies.number > 1 else sizes


def halves(outputs: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
    """The outputs of the first half of the cases, and of the second."""
    first, second = {}, {}
    for name, array in outputs.items():
        middle = len(array) // 2
        first[name], second[name] = array[:middle], array[middle:]
    return first, second
