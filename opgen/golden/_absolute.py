"""Goldens and magnitudes by the same code: alone, or in one call, which costs small data less than
two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from opgen.golden import Array, Tensors

Outputs: TypeAlias = dict[str, Array]
Both: TypeAlias = tuple[Outputs, Outputs]
Function: TypeAlias = Callable[..., Outputs]


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


def functions(computed: Function) -> tuple[Function, Function, Callable[..., Both]]:
    """The functions ``golden``, ``magnitude`` and ``both`` of a kernel that computes all copies of
    all cases: (tensors, names, wanted, copies) -> output -> (copies * B, ...).
    """

    def both(tensors: Tensors, names: Mapping[str, int], wanted: Collection[str]) -> Both:
        goldens, sizes = {}, {}
        for name, array in computed(tensors, names, wanted, BOTH).items():
            middle = len(array) // 2
            goldens[name], sizes[name] = array[:middle], array[middle:]
        return goldens, sizes

    return partial(computed, copies=GOLDEN), partial(computed, copies=MAGNITUDE), both
