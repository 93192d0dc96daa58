"""A file that HDF5 writes through Python, so that a full disk is an error of ours.

HDF5 writes late, even when a file is closed, and a write that fails there takes the whole program
with it. So nothing fails here: what finds no room is kept in memory, and :meth:`Sink.check` raises.
"""

from __future__ import annotations

import io
import os
from typing import Any

from opgen.bundle.format.file_bytes import write_at


class Sink(io.RawIOBase):
    """What h5py asks of a file object, over an open file: one place, and bytes read and written
    there.
    """

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self._at = 0
        self._failed: OSError | None = None
        self._kept: list[tuple[int, bytes]] = []

    def check(self) -> None:
        """Raise what the first write that failed has raised. To be called often: what is written
        after it fills the memory.
        """
        if self._failed is not None:
            raise self._failed

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset if whence == os.SEEK_SET else os.fstat(self._fd).st_size + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        buffer[:] = os.pread(self._fd, size, self._at).ljust(size, b"\0")
        for start, kept in self._kept:
            low, high = max(start, self._at), min(start + len(kept), self._at + size)
            if low < high:
                buffer[low - self._at : high - self._at] = kept[low - start : high - start]
        return size

    def write(self, data: Any) -> int:
        try:
            self.check()
            write_at(self._fd, data, self._at)
        except OSError as error:
            self._failed = error
            self._kept.append((self._at, bytes(data)))
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        size = self._at if size is None else size
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            self._failed = self._failed or error
        return size
