"""Where windows over planes are largest: what the forward of a max pool keeps."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from opgen.numerics.arrays import BLOCK, Array


def first_largest(image: Array, rows: Array, columns: Array, dtype: npt.DTypeLike) -> Array:
    """(..., Hout, Wout) the place in its plane, row by row, of the first largest element of each
    window of ``image`` (..., Hin, Win), a few planes at a time; 0 of a window without numbers.

    ``rows`` (kH, Hout) and ``columns`` (kW, Wout): for each element of a window along an axis, its
    place in the image of every window; -1 where there is none.

    >>> image = np.array([[1.0, 3.0, 3.0], [0.0, 4.0, 2.0]])
    >>> first_largest(image, np.array([[0], [1]]), np.array([[0, 1], [1, 2]]), "i4").tolist()
    [[4, 4]]
    """
    *outer, height, width = image.shape
    planes = image.reshape(prod(outer), height, width)
    index = np.zeros((len(planes), rows.shape[1], columns.shape[1]), dtype=dtype)
    step = max(1, BLOCK // max(1, height * width))
    for start in range(0, len(planes) if index.size and image.size else 0, step):
        some = planes[start : start + step].astype(np.float64)
        places = index[start : start + step]
        largest = np.full(places.shape, -np.inf)
        for down, across in product(rows[:, :, None], columns):
            inside = (down >= 0) & (across >= 0)
            values = np.where(inside, some[:, down, across], -np.inf)
            larger = values > largest
            np.copyto(largest, values, where=larger)
            np.copyto(places, (down * width + across).astype(dtype), where=larger)
    return index.reshape(*outer, *index.shape[1:])
