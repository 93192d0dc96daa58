"""Work for this process and for forked ones, of which each takes the next task when it has done one.

What is next is told by the position of a file that all share, and answers come through a pipe of each worker's own. No thread of
this process takes part, and no lock (a forked one has a thread that ends it with its parent), so that whatever ends the work, an
interrupt or a worker that is killed, ends it at once. The pools of the standard library can wait for ever then: for a lock that
the interrupted thread has left locked, or for the rest of an answer that a worker was killed in the middle of.

This process works, too. One that only listened would share a core with those that work, and each fork is memory to copy.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from tempfile import TemporaryFile
from typing import Any, TypeVar

from opgen.bundle.interrupts import held_back

UNREAD = 1 << 20
"""Bytes of answers that a worker may be ahead of this process, which reads none while it is at a task."""

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Killed(Exception):
    """A worker has ended before the work has."""


def answers(work: Callable[[Task], Answer], tasks: Sequence[Task], workers: int) -> Iterator[Answer]:
    """What ``work`` returns for each task, in the order in which they are done; no worker outlives this.

    Tasks are begun in their order: with the largest first, all end together. Answers travel through pipes, and should be small;
    ``work`` and ``tasks``, with all that they refer to, are there already where a process is forked. What ``work`` raises is
    raised here; Killed where a worker is gone.
    """
    fork = get_context("fork")
    team: dict[Any, ForkProcess] = {}
    busy: set[Any] = set()

    def heard(patience: float | None) -> Iterator[Answer]:
        """Answers of the others until none has come for so many seconds, or until all have."""
        while busy and (ready := wait(busy, patience)):
            for connection in ready:
                told = _heard(connection)
                if told is None:
                    busy.remove(connection)
                    continue
                answer, error, trace = told
                if error is not None:
                    raise error from RuntimeError(f"in a worker:\n{trace}")
                yield answer

    with TemporaryFile() as shared:
        gc.freeze()  # else the workers' collectors touch, and so copy, every page that they share
        try:
            with held_back():
                for _ in range(workers - 1):
                    here, there = fork.Pipe(duplex=False)
                    _widen(there)
                    process = fork.Process(target=_serve, args=(there, work, tasks, shared.fileno(), os.getpid()), daemon=True)
                    process.start()
                    team[here] = process
                    there.close()
            busy.update(team)
            for task in _taken(tasks, shared.fileno()):
                yield work(task)
                yield from heard(0)
            yield from heard(None)
        finally:
            with held_back():
                for process in team.values():
                    process.kill()
                for connection, process in team.items():
                    process.join()
                    connection.close()
            gc.unfreeze()


def _taken(tasks: Sequence[Task], shared: int) -> Iterator[Task]:
    """The tasks that nobody else takes. To move a position and to tell it is one step for all who share an open file."""
    while (at := os.lseek(shared, 1, os.SEEK_CUR) - 1) < len(tasks):
        yield tasks[at]


def _widen(connection: Any) -> None:
    """Room for answers, where the system has a way to ask for it and grants it."""
    with suppress(AttributeError, OSError):
        fcntl.fcntl(connection.fileno(), fcntl.F_SETPIPE_SZ, UNREAD)


def _heard(connection: Any) -> Any:
    try:
        return connection.recv()
    except (EOFError, OSError):
        raise Killed from None


def _serve(connection: Any, work: Callable[[Any], Any], tasks: Sequence[Any], shared: int, parent: int) -> None:
    """What a worker does. Ctrl-C is for the process that it works for, and without that one, now or later, it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    with suppress(BrokenPipeError):  # nobody is there to hear it
        for task in _taken(tasks, shared):
            connection.send(_done(work, task))
        connection.send(None)


def _done(work: Callable[[Any], Any], task: Any) -> tuple[Any, Exception | None, str]:
    """What the work returns, or what it raises, to be raised again where it was asked for."""
    try:
        return work(task), None, ""
    except Exception as error:  # noqa: BLE001
        return None, error, "".join(traceback.format_exception(error))


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
