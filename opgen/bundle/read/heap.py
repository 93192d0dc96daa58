"""Texts of variable length, read where they lie: HDF5 never returns from some damaged heaps."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from opgen.bundle.format import first_block

REFERENCE = np.dtype([("bytes", "<u4"), ("heap", "<u8"), ("index", "<u4")])
"""What stands in the place of a text."""
_HEAP = struct.Struct("<4sB3xQ")
"""How a heap begins: ``GCOL``, its version, its bytes."""
_TEXT = struct.Struct("<HHIQ")
"""What stands before each text in a heap: its index, two numbers that nobody reads, its bytes."""


def texts(references: np.ndarray, read: Callable[[int, int], np.ndarray], size: int) -> list[str]:
    """The texts that ``references`` (rows,) stand for, from a file of ``size`` bytes; ``read``
    gives some bytes: from where on, and how many.

    Format: HDF5 File Format Specification 3.0, III.E, Global Heap. Raises ValueError where the
    heaps do not hold the texts, or overlap.
    """
    wanted = references[references["bytes"] > 0]
    if int(wanted["bytes"].sum()) > size:
        raise ValueError("its texts are longer than the file")
    held: dict[tuple[int, int], bytes] = {}
    for heap in sorted({*wanted["heap"].tolist()}):
        data = _heap(heap + first_block.SIZE, read, size)
        size -= len(data)
        held |= {(heap, index): text for index, text in _within(data).items()}
    found = [held.get((heap, index), b"")[:length] for length, heap, index in references.tolist()]
    if sum(map(len, found)) != int(wanted["bytes"].sum()):
        raise ValueError("a text is not in its heap")
    if any(b"\0" in text for text in found):
        raise ValueError("a text has a byte 0, which HDF5 cannot write")
    return [text.decode() for text in found]


def _heap(start: int, read: Callable[[int, int], np.ndarray], size: int) -> bytes:
    """The whole of a heap of at most ``size`` bytes."""
    mark, version, extent = _HEAP.unpack(read(start, _HEAP.size).tobytes())
    if (mark, version) != (b"GCOL", 1) or extent > size:
        raise ValueError(f"no heap at byte {start}")
    return read(start, extent).tobytes()


def _within(heap: bytes) -> dict[int, bytes]:
    """Index -> text of everything in a heap."""
    found, offset = {}, _HEAP.size
    while offset + _TEXT.size <= len(heap):
        index, _, _, length = _TEXT.unpack_from(heap, offset)
        if not index:  # what is left is free
            break
        offset += _TEXT.size
        found[index] = heap[offset : offset + length]
        offset += (length + 7) // 8 * 8
    return found
