"""Forked processes, each of which takes the next task when it has done one.

What is next is told by the position of a file that all share. Answers lie in a file of each
worker's own, and a pipe says where: they may be large, and a worker goes on while nobody reads,
until the pipe is full of thousands of places.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from opgen.generation import outcomes
from opgen.model import FileError, Problem

ORPHANED = 3
"""What a worker ends with when the process that it works for is gone."""


class Killed(FileError):
    """A worker has ended before the work has."""

    def __init__(self) -> None:
        super().__init__(
            [Problem("opgen", None, "", "a worker process was killed, perhaps for lack of memory")]
        )


class Forked(NamedTuple):
    """A forked process, and the file that its answers lie in."""

    process: ForkProcess
    file: IO[bytes]


def started(
    work: Callable[[Any], Any], tasks: Sequence[Any], shared: IO[bytes], files: ExitStack
) -> tuple[Connection, Forked] | None:
    """One more worker, and the pipe that it speaks through; None where the system has no process or
    no file for it.
    """
    file, fork = unnamed_file(files), get_context("fork")
    if file is None:
        return None
    try:
        here, there = fork.Pipe(duplex=False)
    except OSError:
        return None
    with there:
        process = fork.Process(
            target=serve,
            args=(there, file, work, tasks, shared.fileno(), os.getpid()),
            daemon=True,
        )
        try:
            process.start()
        except OSError:
            here.close()
            return None
    return here, Forked(process, file)


def unnamed_file(files: ExitStack) -> IO[bytes] | None:
    """A file without a name, closed with the others; None where there is no place for one."""
    with suppress(OSError):
        return files.enter_context(TemporaryFile())
    return None


def taken(tasks: Sequence[object], shared: int) -> Iterator[int]:
    """Places of tasks that nobody else takes. To move a position and to tell it is one step for all
    who share an open file.
    """
    while (place := os.lseek(shared, 1, os.SEEK_CUR) - 1) < len(tasks):
        yield place


def take_all(tasks: Sequence[object], shared: int) -> None:
    """Leave no task to anybody."""
    os.lseek(shared, len(tasks), os.SEEK_SET)


def told(connection: Any) -> Any:
    """Where the next answer of a worker begins and ends in its file; None where there are no
    more.
    """
    try:
        return connection.recv()
    except (EOFError, OSError):
        raise Killed from None


def serve(
    connection: Connection,
    file: IO[bytes],
    work: Callable[[Any], Any],
    tasks: Sequence[object],
    shared: int,
    parent: int,
) -> None:
    """What a worker does. Ctrl-C is for the process that it works for, and without that one, now or
    later, it ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    with suppress(BrokenPipeError):  # nobody is there to hear it
        for place in taken(tasks, shared):
            data, wrong = outcomes.portable(outcomes.outcome(work, tasks, place))
            if wrong:
                take_all(tasks, shared)
            connection.send(outcomes.leave(data, file))
        connection.send(None)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(ORPHANED)
