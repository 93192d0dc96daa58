"""A finished file open for reading: what bundles and results have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from opgen.bundle.format import schema
from opgen.bundle.format.closing import Closing
from opgen.bundle.format.digest import digest_of
from opgen.bundle.format.dtypes import BundleError, words_of
from opgen.bundle.read.opening import OpenedFile
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


class FinishedFile(OpenedFile, Closing):
    """A file whose tables mean something; a context manager. Raises BundleError for any other.

    Every tensor is checked against its digest when it is read, unless ``check`` is false.
    """

    def __init__(self, path: str | Path, kind: str, check: bool = True) -> None:
        super().__init__(path, kind)
        self.check = check
        self._lists: dict[int, tuple[int, ...]] = {}
        if text := unsoundness(self):
            self.close()
            raise self.unsound(text)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.path}: {len(self)} cases>"

    def __len__(self) -> int:
        return len(self._cases)

    @property
    def _cases(self) -> np.ndarray:
        """The table that has a row per case."""
        return self.tables[schema.ROWS[self.kind]]

    @cached_property
    def ids(self) -> list[str]:
        """The id of every case, by row."""
        return [text.decode() for text in self._cases["id"].tolist()]

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

    def place(self, dtype: int, elements: int, position: int) -> tuple[int, int]:
        """Where the elements of a tensor lie in the file: the first byte, and how many."""
        kind, start, _ = self.blobs[dtype]
        return start + position * kind.itemsize, elements * kind.itemsize

    def elements(
        self, row: int, name: int, dtype: int, elements: int, position: int, digest: bytes
    ) -> np.ndarray:
        """The elements of a tensor of a case: 1-D, owned by the caller; BundleError if damaged."""
        raw = self.bytes(*self.place(dtype, elements, position))
        if self.check and digest_of(raw.data) != digest:
            raise self.damage(row, name)
        return raw.view(self.blobs[dtype].dtype)

    def damage(self, row: int, name: int) -> BundleError:
        """What is said of a tensor of a case that does not match its digest."""
        return self.error(f"damaged: {self.ids[row]}: {self.names[name]} does not match its digest")
