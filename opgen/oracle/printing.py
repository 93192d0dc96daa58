"""A file of calls and what is printed for it, part by part, so that several processes can share the
work and none holds all calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from opgen.files.gc_pause import gc_paused
from opgen.model import FileError, Truth
from opgen.oracle.callfiles import JudgedCall


@dataclass(frozen=True, slots=True)
class Printed:
    """The lines that are printed for some calls, as one text; the ids of all of them, and of those
    that are refused.
    """

    text: str
    ids: tuple[str, ...]
    refused: tuple[str, ...]

    @classmethod
    def of(cls, answers: Sequence[JudgedCall], lines: Iterable[str], truth: Truth) -> Printed:
        """The answers to some calls."""
        with gc_paused():
            text = "".join([f"{line}\n" for line in lines])
        ids = tuple(answer.call.id for answer in answers)
        return cls(text, ids, tuple(a.call.id for a in answers if a.refused(truth)))


Work: TypeAlias = Callable[[range | None], Printed]
"""What reads, judges and prints a part of a file, or all of it for ``None``."""


def in_parts(
    work: Work, cut: Sequence[range], each: Callable[[Work, Sequence[range]], list[Printed]]
) -> list[Printed]:
    """What is printed for the parts of a file, in their order; ``each`` is a ``map``.

    Where a part has a fault, or two have the same id, ``work`` does the whole file: only then are
    the numbers of lines known.
    """
    if len(cut) > 1:
        try:
            printed = each(work, cut)
        except FileError as error:
            if type(error) is not FileError:  # no fault of the file
                raise
        else:
            ids = [part.ids for part in printed]
            if len(set().union(*ids)) == sum(map(len, ids)):
                return printed
    return [work(None)]
