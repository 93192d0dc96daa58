"""A finished file open for reading: what bundles and results have in common."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np

from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.read.data import Data
from opgen.bundle.read.opening import open_file
from opgen.bundle.read.soundness import unsoundness


class Finished:
    """The header, the tables as stored and the data of a file; a context manager. Raises
    BundleError for a file that is not whole.

    Every tensor is checked against its digest when it is read, unless ``check`` is false.
    """

    KIND: ClassVar[str]

    def __init__(self, path: str | Path, *, check: bool = True) -> None:
        file = open_file(path, self.KIND)
        if text := unsoundness(file.tables, len(file.strings)):
            os.close(file.fd)
            raise BundleError(f"{path}: not a {self.KIND} that opgen wrote: {text}")
        self.path = file.path
        self.data = Data(file, check)
        self.header: dict[str, Any] = file.attributes
        self.digest: str = file.digest
        self.tables: dict[str, np.ndarray] = file.tables
        self.strings: list[str] = file.strings

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
        self.data.close()
