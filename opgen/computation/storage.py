"""Values in their storage: given ones, and views with strides and offsets laid into a buffer."""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np

from opgen.model import TensorDesc
from opgen.numbers.numerics import DTYPES, Array, stored
from opgen.numbers.slot import Slot
from opgen.suites.batch import Batch
from opgen.suites.stored import storage_elements

GAP = -512.0
"""What lies in a storage where no element of the view is: a wrong stride shows."""


def given(batch: Batch, slot: Slot) -> Array:
    """Values that a plan or a user gives, rounded once to storage, the same for every case: (B, *shape)."""
    wide = DTYPES[slot.dtype].wide
    values = stored(np.array(batch.given[slot.tensor], dtype=wide).reshape(slot.shape), slot.dtype).astype(wide)
    return np.repeat(values[None], len(batch.ids), axis=0)


def through(flat: Array, desc: TensorDesc) -> tuple[Array, Array]:
    """(storage (B, elements) that holds a view, the values as they are read back through the view)."""
    index = _index(desc.shape, desc.strides, desc.offset)
    storage = np.full((len(flat), storage_elements(desc)), GAP, dtype=flat.dtype)
    storage[:, index] = flat
    return storage, storage[:, index].astype(DTYPES[desc.dtype].wide).reshape(len(flat), *desc.shape)


@cache
def _index(shape: tuple[int, ...], strides: tuple[int, ...] | None, offset: int) -> Array:
    """Position in storage of every element of a view, in row-major order of the view."""
    steps = strides if strides is not None else tuple(prod(shape[i + 1 :]) for i in range(len(shape)))
    index = np.full((1,) * max(len(shape), 1), offset, dtype=np.int64)
    for axis, (extent, stride) in enumerate(zip(shape, steps, strict=True)):
        index = index + (np.arange(extent) * stride).reshape(-1, *(1,) * (len(shape) - axis - 1))
    return index.reshape(-1)
