"""The data of a file from front to back, some neighbouring tensors at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from opgen.bundle.format.layout import spread
from opgen.bundle.read.finished import FinishedFile


class Window(NamedTuple):
    """Tensors of one dtype as they lie side by side: rows of ``/tensors``, the bytes from the end
    of what is before them, and from where to where each lies in these.
    """

    dtype: int
    rows: np.ndarray
    bytes: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    @property
    def data(self) -> list[memoryview]:
        """The bytes of each tensor."""
        view, spans = self.bytes.data, zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [view[start:end] for start, end in spans]

    @property
    def padding(self) -> np.ndarray:
        """The bytes of none."""
        begin, end = np.append(0, self.ends), np.append(self.starts, len(self.bytes))
        gap, within = spread(end - begin)
        return np.asarray(self.bytes[begin[gap] + within])


def in_order(file: FinishedFile, dtype: int) -> np.ndarray:
    """The rows of the tensors of a dtype whose data lie in the file, in the order of these."""
    tensors = file.tables["tensors"]
    rows = np.flatnonzero((tensors["dtype"] == dtype) & (tensors["position"] >= 0))
    return rows[np.lexsort((tensors["elements"][rows], tensors["position"][rows]))]


def windows(file: FinishedFile, limit: int = 1 << 20) -> Iterator[Window]:
    """All data, about ``limit`` bytes at a time."""
    tensors = file.tables["tensors"]
    for number, (kind, start, elements) in file.blobs.items():
        rows, place = in_order(file, number), 0
        starts = tensors["position"][rows] * kind.itemsize
        ends = starts + tensors["elements"][rows] * kind.itemsize
        edges = [0, *(np.flatnonzero(np.diff(starts // limit)) + 1).tolist(), len(rows)]
        for first, after in pairwise(edges):
            end = int(ends[after - 1]) if after < len(rows) else elements * kind.itemsize
            data = file.bytes(start + place, end - place)
            lie = starts[first:after] - place, ends[first:after] - place
            yield Window(number, rows[first:after], data, *lie)
            place = end
