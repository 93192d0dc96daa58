"""A row of ``/tensors``, by the names of its columns."""

from __future__ import annotations

from typing import NamedTuple

NO_DATA, DRAWN = -1, -2
"""The position of a tensor that is described and has no data, and of one whose data are drawn again
where they are read."""


class TensorRow(NamedTuple):
    """What a bundle keeps of one tensor: numbers of words and of lists, in the order of the
    columns.

    ``case`` is a row of ``/cases``; ``shape``, ``strides`` and ``storage_shape`` are rows of
    ``/lists``, 0 where there are none; ``position`` counts elements in the blob of ``dtype``,
    :data:`NO_DATA` where there are none and :data:`DRAWN` where they follow from a seed.
    """

    case: int
    name: int
    role: int
    dtype: int
    format: int
    shape: int
    strides: int
    offset: int
    storage_shape: int
    elements: int
    position: int
    digest: bytes

    @property
    def has_data(self) -> bool:
        """Whether it has elements, in the file or drawn."""
        return self.position != NO_DATA

    @property
    def is_whole(self) -> bool:
        """Whether nothing is said of a view: no strides, no offset."""
        return self.strides == 0 and self.offset == 0
