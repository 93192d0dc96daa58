"""What comes of tasks, and how another process gets to know it: pickled, in a file that both have
open.
"""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable, Sequence
from tempfile import gettempdir
from typing import IO, Any, NamedTuple

from opgen.model import FileError, Problem

_MOST_AT_ONCE = 1 << 30
"""Bytes; a system reads a little less than 2 GiB at a time."""


class Outcome(NamedTuple):
    """What came of the task at a place: what the work returned, or what it raised, and where if
    that was in another process.
    """

    at: int
    answer: Any
    error: Exception | None = None
    trace: str = ""

    def get(self) -> Any:
        """What it returned; raises what it raised."""
        if self.error is None:
            return self.answer
        if self.trace:
            raise self.error from RuntimeError(f"in a worker:\n{self.trace}")
        raise self.error


def outcome(work: Callable[[Any], Any], tasks: Sequence[Any], place: int) -> Outcome:
    """Do a task."""
    try:
        return Outcome(place, work(tasks[place]))
    except Exception as error:  # noqa: BLE001
        return Outcome(place, None, error)


def portable(done: Outcome) -> tuple[bytes, bool]:
    """An outcome for another process, and whether it is an error: that comes with its trace, and as
    a text where it cannot be made again there. What cannot be pickled is an error, too.
    """
    if done.error is None:
        try:
            return pickle.dumps(done, pickle.HIGHEST_PROTOCOL), False
        except Exception as error:  # noqa: BLE001
            done = Outcome(done.at, None, error)
    told = done._replace(trace="".join(traceback.format_exception(done.error)))
    try:
        data = pickle.dumps(told)
        pickle.loads(data)
    except Exception:  # noqa: BLE001
        data = pickle.dumps(told._replace(error=RuntimeError(repr(done.error))))
    return data, True


def leave(data: bytes, file: IO[bytes]) -> tuple[int, int] | str:
    """Put it at the end of a file: where it begins and ends there, or why it has no room."""
    start = file.tell()
    try:
        file.write(data)
        file.flush()
    except OSError as error:
        return error.strerror or str(error)
    return start, file.tell()


def take(place: tuple[int, int] | str, file: IO[bytes], at_once: int = _MOST_AT_ONCE) -> Outcome:
    """What another process has left, read ``at_once`` bytes at a time; FileError where it found no
    room. The position of the file is the other's, and stays.
    """
    if isinstance(place, str):
        text = f"has no room for messages of a worker: {place}; TMPDIR names another folder"
        raise FileError([Problem(gettempdir(), None, "", text)])
    start, end = place
    data = bytearray(end - start)
    view = memoryview(data)
    while view:
        view = view[os.preadv(file.fileno(), [view[:at_once]], end - len(view)) :]
    found: Outcome = pickle.loads(data)
    return found
