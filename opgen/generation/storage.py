"""Values in their storage: given ones, and views with strides and offsets laid into a buffer."""

from __future__ import annotations

import numpy as np

from opgen.model import TensorDesc
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES
from opgen.numerics.input_tensor import InputTensor
from opgen.numerics.rounding import stored
from opgen.numerics.views import index
from opgen.suite.batch import Batch

GAP = -512.0
"""What lies in a storage where no element of the view is: a wrong stride shows."""


def given(batch: Batch, tensor: InputTensor) -> Array:
    """Values that a plan or a user gives, rounded once to storage, the same for every case: (B,
    *shape).
    """
    wide = DTYPES[tensor.dtype].wide
    values = stored(
        np.array(batch.given[tensor.name], dtype=wide).reshape(tensor.shape), tensor.dtype
    ).astype(wide)
    return np.repeat(values[None], len(batch.ids), axis=0)


def through(flat: Array, desc: TensorDesc) -> tuple[Array, Array]:
    """(storage (B, elements) that holds a view, the values as they are read back through the
    view).
    """
    places = index(desc.shape, desc.steps, desc.offset)
    storage = np.full((len(flat), desc.storage_elements), GAP, dtype=flat.dtype)
    storage[:, places] = flat
    return storage, storage[:, places].astype(DTYPES[desc.dtype].wide).reshape(
        len(flat), *desc.shape
    )
