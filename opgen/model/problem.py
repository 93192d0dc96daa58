"""What is wrong in a file that a person wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a file that a person wrote."""

    file: str
    line: int | None
    where: str
    text: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.where}: {self.text}" if self.where else f"{place}: {self.text}"


class FileError(Exception):
    """An argument, a device, or a file that a person wrote cannot be used; carries every problem.

    The command line prints one line per problem and exits 2.
    """

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems

    @classmethod
    def of(cls, file: str, where: str, text: str, line: int | None = None) -> FileError:
        """One problem. ``file`` may be the argument of a function, in backquotes, and ``where`` its
        value: only a command line knows what its user calls it.

        >>> FileError.of("`seed`", "-1", "is below 0")
        FileError('`seed`: -1: is below 0')
        """
        return FileError([Problem(file, line, where, text)])

    def __reduce__(self) -> tuple[type[FileError], tuple[list[Problem]]]:
        """Another process gets the problems, not their text, nor what a kind of this error knows
        besides.
        """
        return FileError, (self.problems,)


@contextmanager
def collecting(problems: list[Problem]) -> Iterator[None]:
    """A block that may raise FileError: its problems join the others, and what follows goes on."""
    try:
        yield
    except FileError as error:
        problems += error.problems
