"""Absolute values, and goldens and magnitudes in one call, which costs small data less than two."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from opgen.golden import Array, Tensors


def absolute(array: Array | None) -> Array:
    """Absolute values by parts: ``|re| + i |im|`` where the array is complex."""
    assert array is not None
    if array.dtype.kind == "c":
        return np.abs(np.ascontiguousarray(array).view(np.float64)).view(np.complex128)
    return np.abs(array)


def in_one_call(
    golden: Callable[[Tensors, Mapping[str, int], Collection[str]], dict[str, Array]],
    tensors: Tensors, names: Mapping[str, int], wanted: Collection[str],
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The goldens of the tensors and those of their absolute values, from a stack of twice as many cases."""
    stacks = {name: None if array is None else np.concatenate([array, absolute(array)]) for name, array in tensors.items()}
    return halves(golden(stacks, names, wanted))


def halves(outputs: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
    """The outputs of the first half of the cases, and of the second."""
    split = {name: (array[:len(array) // 2], array[len(array) // 2:]) for name, array in outputs.items()}
    return {name: pair[0] for name, pair in split.items()}, {name: pair[1] for name, pair in split.items()}
