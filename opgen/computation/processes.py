"""Work for this process and for forked ones, of which each takes the next task when it has done one.

What is next is told by the position of a file that all share. Answers lie in a file of each worker's own, and a pipe says where:
however large they are, and however long nobody reads, a worker goes on. No thread of this process takes part, and no lock (a forked
one has a thread that ends it with its parent), so that whatever ends the work, an interrupt or a worker that is killed, ends it at
once. The pools of the standard library can wait for ever then: for a lock that the interrupted thread has left locked, or for the
rest of an answer that a worker was killed in the middle of.

This process works, too. One that only listened would share a core with those that work, and each fork is memory to copy.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from operator import itemgetter
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple, TypeVar

from opgen.bundle.interrupts import held_back
from opgen.model import FileError, Problem

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Killed(FileError):
    """A worker has ended before the work has."""

    def __init__(self) -> None:
        super().__init__([Problem("opgen", None, "", "a worker process was killed, perhaps for want of memory")])


class _Worker(NamedTuple):
    """A forked process, and the file that its answers lie in."""

    process: ForkProcess
    file: IO[bytes]


def cores() -> int:
    """How many processes can work side by side here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(work: Callable[[Task], Answer], tasks: Sequence[Task], workers: int) -> list[Answer]:
    """What ``work`` returns for each task, in the order of the tasks; what it raises for the first of them is raised.

    Says what ``list(map(work, tasks))`` says, sooner. Killed where a worker is gone.
    """
    if min(workers, len(tasks)) <= 1:
        return list(map(work, tasks))
    found = sorted(answers(lambda at: (at, _done(work, tasks[at])), range(len(tasks)), min(workers, len(tasks))), key=itemgetter(0))
    return [_unless_raised(done) for _, done in found]


def answers(work: Callable[[Task], Answer], tasks: Sequence[Task], workers: int) -> Iterator[Answer]:
    """What ``work`` returns for each task, in the order in which they are done; no worker outlives this.

    Tasks are begun in their order: with the largest first, all end together. Answers are pickled; ``work`` and ``tasks``, with all
    that they refer to, are there already where a process is forked. What ``work`` raises is raised here; Killed where a worker is
    gone.
    """
    fork = get_context("fork")
    team: dict[Any, _Worker] = {}
    busy: set[Any] = set()

    def heard(patience: float | None) -> Iterator[Answer]:
        """Answers of the others until none has come for so many seconds, or until all have."""
        while busy and (ready := wait(busy, patience)):
            for connection in ready:
                place = _heard(connection)
                if place is None:
                    busy.remove(connection)
                    continue
                start, end = place
                yield _unless_raised(pickle.loads(os.pread(team[connection].file.fileno(), end - start, start)))

    with TemporaryFile() as shared, ExitStack() as files:
        gc.freeze()  # else the workers' collectors touch, and so copy, every page that they share
        try:
            with held_back():
                for _ in range(workers - 1):
                    here, there = fork.Pipe(duplex=False)
                    file = files.enter_context(TemporaryFile())
                    process = fork.Process(target=_serve, args=(there, file, work, tasks, shared.fileno(), os.getpid()), daemon=True)
                    process.start()
                    team[here] = _Worker(process, file)
                    there.close()
            busy.update(team)
            for task in _taken(tasks, shared.fileno()):
                yield work(task)
                yield from heard(0)
            yield from heard(None)
        finally:
            with held_back():
                for worker in team.values():
                    worker.process.kill()
                for connection, worker in team.items():
                    worker.process.join()
                    connection.close()
            gc.unfreeze()


def _taken(tasks: Sequence[Task], shared: int) -> Iterator[Task]:
    """The tasks that nobody else takes. To move a position and to tell it is one step for all who share an open file."""
    while (at := os.lseek(shared, 1, os.SEEK_CUR) - 1) < len(tasks):
        yield tasks[at]


def _heard(connection: Any) -> Any:
    """Where the next answer of a worker begins and ends in its file; None where there are no more."""
    try:
        place = connection.recv()
    except (EOFError, OSError):
        raise Killed from None
    if isinstance(place, Exception):
        raise place
    return place


def _serve(connection: Any, file: IO[bytes], work: Callable[[Any], Any], tasks: Sequence[Any], shared: int, parent: int) -> None:
    """What a worker does. Ctrl-C is for the process that it works for, and without that one, now or later, it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    with suppress(BrokenPipeError):  # nobody is there to hear it
        for task in _taken(tasks, shared):
            connection.send(_kept(_done(work, task), file))
        connection.send(None)


def _kept(answer: Any, file: IO[bytes]) -> tuple[int, int] | Exception:
    """Where an answer begins and ends in a file now; or why it is not there: it cannot be pickled, or there is no room."""
    start = file.tell()
    try:
        pickle.dump(answer, file, pickle.HIGHEST_PROTOCOL)
        file.flush()
    except Exception as error:  # noqa: BLE001
        return error
    return start, file.tell()


def _done(work: Callable[[Any], Any], task: Any) -> tuple[Any, Exception | None, str]:
    """What the work returns, or what it raises, to be raised again where it was asked for."""
    try:
        return work(task), None, ""
    except Exception as error:  # noqa: BLE001
        return None, error, "".join(traceback.format_exception(error))


def _unless_raised(done: tuple[Any, Exception | None, str]) -> Any:
    answer, error, trace = done
    if error is not None:
        raise error from RuntimeError(f"in a worker:\n{trace}")
    return answer


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
