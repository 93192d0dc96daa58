"""A finished file open for reading: what bundles and results have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from opgen.bundle.format.container import read_at
from opgen.bundle.format.digest import digest_of
from opgen.bundle.format.dtypes import BundleError, words_of
from opgen.bundle.format.heading import Header
from opgen.bundle.read.opening import open_file
from opgen.bundle.read.soundness import unsoundness

Row = TypeVar("Row")


class LazyArrays(Mapping[str, np.ndarray], Generic[Row]):
    """Arrays by parameter name; each is read, and checked, when it is asked for."""

    def __init__(self, rows: Mapping[str, Row], read: Callable[[Row], np.ndarray]) -> None:
        self._rows = rows
        self._read = read

    def __getitem__(self, name: str) -> np.ndarray:
        return self._read(self._rows[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<arrays {', '.join(self._rows) or 'none'}>"


class FinishedFile:
    """The header, the tables as stored and the data of a file; a context manager. Raises
    BundleError for a file that is not whole.

    Every tensor is checked against its digest when it is read, unless ``check`` is false. Reads are
    positioned and share no state: threads and forked processes may use one.
    """

    KIND: ClassVar[str]
    ROWS: ClassVar[str]
    """The table that has a row per case."""

    def __init__(self, path: str | Path, *, check: bool = True) -> None:
        file = open_file(path, self.KIND)
        if text := unsoundness(file.tables, len(file.strings)):
            os.close(file.fd)
            raise BundleError(f"{path}: not a {self.KIND} that opgen wrote: {text}")
        self.path = file.path
        self.fd = file.fd
        self.check = check
        self.header: Header = file.attributes
        self.digest: str = file.digest
        self.tables: dict[str, np.ndarray] = file.tables
        self.strings: list[str] = file.strings
        self.blobs = file.blobs
        self._lists: dict[int, tuple[int, ...]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; arrays already read stay valid."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            self.close()

    def __repr__(self) -> str:
        return f"<{self.KIND} {self.path}: {len(self)} cases>"

    def __len__(self) -> int:
        return len(self.tables[self.ROWS])

    @cached_property
    def ids(self) -> list[str]:
        """The id of every case, by row."""
        return [text.decode() for text in self.tables[self.ROWS]["id"].tolist()]

    @cached_property
    def rows(self) -> dict[str, int]:
        """Case id to row."""
        return {name: row for row, name in enumerate(self.ids)}

    def __contains__(self, key: object) -> bool:
        return key in self.rows

    @cached_property
    def names(self) -> list[str]:
        """The names of tensors, by number."""
        words = words_of(self.tables["tensors"].dtype["name"])
        return [words[number] for number in range(len(words))]

    def sequence(self, number: int) -> tuple[int, ...] | None:
        """A list of integers by its number; None for a null pointer."""
        if number and number not in self._lists:
            start, length = self.tables["lists"][number].tolist()
            self._lists[number] = tuple(self.tables["integers"][start : start + length].tolist())
        return self._lists[number] if number else None

    def place(
        self, row: int, name: int, dtype: int, elements: int, position: int
    ) -> tuple[int, int]:
        """Where the elements of a tensor of a case lie in the file: the first byte, and how many;
        BundleError where that is outside the data.
        """
        kind, start, limit = self.blobs.get(dtype, (np.dtype("u1"), 0, -1))
        if not 0 <= position <= limit - elements:
            raise self.damage(row, name, "lies outside the data")
        return start + position * kind.itemsize, elements * kind.itemsize

    def elements(
        self, row: int, name: int, dtype: int, elements: int, position: int, digest: bytes
    ) -> np.ndarray:
        """The elements of a tensor of a case: 1-D, owned by the caller; BundleError if damaged."""
        start, size = self.place(row, name, dtype, elements, position)
        raw = self.bytes(start, size)
        if self.check and digest_of(raw.data) != digest:
            raise self.damage(row, name, "does not match its digest")
        return raw.view(self.blobs[dtype].dtype)

    def bytes(self, start: int, size: int) -> np.ndarray:
        """(size,) uint8 from byte ``start`` of the file on."""
        if self.fd < 0:
            raise BundleError(f"{self.path}: is closed; read what you need before the file is")
        raw = np.empty(size, dtype=np.uint8)
        read_at(self.path, self.fd, raw, start)
        return raw

    def damage(self, row: int, name: int, text: str) -> BundleError:
        """What is said of a tensor of a case that is not as it was written."""
        return BundleError(f"{self.path}: damaged: {self.ids[row]}: {self.names[name]} {text}")
