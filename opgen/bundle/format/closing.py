"""What the end of a ``with`` block closes."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """A context manager that its block works with, and that is closed at the end of the block."""

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
        """Let go of what is open."""
