"""Reading single tensors from the blobs of an opened file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from opgen.bundle.format.container import read_at
from opgen.bundle.format.digest import digest_of
from opgen.bundle.format.dtypes import DTYPES, BundleError, numpy_dtype
from opgen.bundle.read.opening import Opened


class Data:
    """The blobs of a file. Reads are positioned and share no state: threads and forked processes
    may use one.
    """

    def __init__(self, file: Opened, check: bool = True) -> None:
        self.check = check
        self._path = file.path
        self.fd = file.fd
        self.types: dict[int, tuple[np.dtype[Any], int, int]] = {
            number: (numpy_dtype(name), *file.blobs[name])
            for name, number in DTYPES.items()
            if name in file.blobs
        }
        """Number of a dtype to numpy type, byte offset and elements of its blob."""

    def tensor(self, dtype: int, elements: int, position: int, digest: bytes) -> np.ndarray:
        """Stored elements, 1-D, owned by the caller. ValueError if they do not match their
        digest.
        """
        start, size = self.span(dtype, elements, position)
        raw = np.empty(size, dtype=np.uint8)
        self.fill(raw, start)
        if self.check and digest_of(raw.data) != digest:
            raise ValueError("does not match its digest")
        return raw.view(self.types[dtype][0])

    def span(self, dtype: int, elements: int, position: int) -> tuple[int, int]:
        """Where stored elements lie in the file: the first byte, and how many. ValueError where
        that is outside the data.
        """
        if dtype not in self.types:
            raise ValueError("is of a dtype without data")
        kind, start, limit = self.types[dtype]
        if not 0 <= position <= limit - elements:
            raise ValueError("lies outside the data")
        return start + position * kind.itemsize, elements * kind.itemsize

    def fill(self, raw: np.ndarray, offset: int) -> None:
        """Read ``raw`` full from byte ``offset`` of the file."""
        if self.fd < 0:
            raise BundleError(f"{self._path}: is closed; read what you need before the file is")
        read_at(self._path, self.fd, raw, offset)

    def close(self) -> None:
        """Let go of the file; arrays already read stay valid."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __del__(self) -> None:
        if getattr(self, "fd", -1) >= 0:
            self.close()
