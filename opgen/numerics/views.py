"""Where the elements of a view lie in its storage."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from opgen.numerics.arrays import Array


@lru_cache(maxsize=32)
def index(shape: tuple[int, ...], steps: tuple[int, ...], offset: int) -> Array:
    """(elements,) int64, read-only: position in storage of every element of a view, in row-major
    order of the view.

    >>> index((2, 3), (10, 1), 4).tolist()
    [4, 5, 6, 14, 15, 16]
    """
    places = np.full((1,) * max(len(shape), 1), offset, dtype=np.int64)
    for axis, (extent, step) in enumerate(zip(shape, steps, strict=True)):
        places = places + (np.arange(extent) * step).reshape(-1, *(1,) * (len(shape) - axis - 1))
    flat = places.reshape(-1)
    flat.setflags(write=False)
    return flat
