"""Texts of variable length: those that HDF5 reads, and from damaged heaps none, at once."""

from __future__ import annotations

import struct
from pathlib import Path

import h5py
import numpy as np
import pytest

from opgen.bundle.format import first_block
from opgen.bundle.read import heap

TEXTS = ["", "a", "eight by", "é" * 5000, "", *map(str, range(3000)), "\u202e", "a"]


class HeapFile:
    """A file with texts, and the references to them."""

    def __init__(self, path: Path) -> None:
        with h5py.File(path, "w", userblock_size=first_block.SIZE) as file:
            texts = file.create_dataset("texts", data=TEXTS, dtype=h5py.string_dtype())
            place, self.asked = texts.id.get_offset(), texts.asstr()[()].tolist()
        self.data = bytearray(path.read_bytes())
        self.references = np.frombuffer(self.data, heap.REFERENCE, len(TEXTS), place).copy()
        self.bytes_read = 0
        self.first = int(self.references["heap"].max()) + first_block.SIZE

    def texts(self) -> list[str]:
        def read(start: int, size: int) -> np.ndarray:
            self.bytes_read += size
            return np.frombuffer(self.data, np.uint8, size, start)

        return heap.texts(self.references, read, len(self.data))


@pytest.fixture
def file(tmp_path: Path) -> HeapFile:
    return HeapFile(tmp_path / "texts.h5")


def test_texts_are_those_that_hdf5_reads(file: HeapFile) -> None:
    assert file.texts() == file.asked == TEXTS
    assert len(np.unique(file.references["heap"])) == 2


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (0, b"NONE"),
        (4, b"\2"),
        (8, struct.pack("<Q", 2**63)),
        (8, struct.pack("<Q", 20)),
        (16, b"\0\0"),
        (24, struct.pack("<Q", 0)),
        (24, struct.pack("<Q", 2**64 - 1)),
        (24, struct.pack("<Q", 2**64 - 16)),
    ],
)
def test_a_damaged_heap_is_refused(file: HeapFile, at: int, value: bytes) -> None:
    """Its mark, version and size, and the index and size of its first text."""
    file.data[file.first + at : file.first + at + len(value)] = value
    with pytest.raises(ValueError, match=r"no heap at byte|is not in its heap"):
        file.texts()


def test_a_text_that_hdf5_could_not_write_is_refused(file: HeapFile) -> None:
    """Else nobody can unpack what it is in."""
    place = file.data.index(b"eight by")
    file.data[place : place + 1] = b"\0"
    with pytest.raises(ValueError, match="has a byte 0"):
        file.texts()


@pytest.mark.parametrize(
    ("column", "value"), [("bytes", 2**32 - 1), ("bytes", 30000), ("heap", 16), ("index", 60000)]
)
def test_references_to_what_is_not_there_are_refused(
    file: HeapFile, column: str, value: int
) -> None:
    file.references[column][1] = value
    with pytest.raises(ValueError, match=r"longer than the file|no heap|is not in its heap"):
        file.texts()


def test_heaps_that_overlap_are_not_read_again_and_again(file: HeapFile) -> None:
    """Each of 2000 heaps is half of the file."""
    header = struct.pack("<4sB3xQ", b"GCOL", 1, 1 << 15)
    file.data = bytearray(first_block.SIZE) + header * 2000 + bytes(1 << 15)
    file.references = np.zeros(1900, heap.REFERENCE)
    file.references["bytes"], file.references["heap"] = 1, 16 * np.arange(1900)
    with pytest.raises(ValueError, match="no heap at byte"):
        file.texts()
    assert file.bytes_read < 2 * len(file.data)
