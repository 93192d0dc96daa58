"""Work for this process and for forked ones, of which each takes the next task when it has done
one.

What is next is told by the position of a file that all share. Answers lie in a file of each
worker's own, and a pipe says where: they may be large, and a worker goes on while nobody reads,
until the pipe is full of thousands of places. No thread of this process takes part, and no lock (a
forked one has a thread that ends it with its parent), so that whatever ends the work, an interrupt
or a worker that is killed, ends it at once. The pools of the standard library can wait for ever
then: for a lock that the interrupted thread has left locked, or for the rest of an answer that a
worker was killed in the middle of.

This process works, too. One that only listened would share a core with those that work, and each
fork is memory to copy.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from multiprocessing import current_process, get_context
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple, TypeVar

from opgen.bundle.format.interrupts import deferred_interrupts
from opgen.generation.outcomes import Outcome, leave, outcome, portable, take
from opgen.model import FileError, Problem

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Where Linux says what a container may use: microseconds of all cores, or ``max``, and in how
many."""

ORPHANED = 3
"""What a worker ends with when the process that it works for is gone."""

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Killed(FileError):
    """A worker has ended before the work has."""

    def __init__(self) -> None:
        super().__init__(
            [Problem("opgen", None, "", "a worker process was killed, perhaps for lack of memory")]
        )


class _Worker(NamedTuple):
    """A forked process, and the file that its answers lie in."""

    process: ForkProcess
    file: IO[bytes]


def cores(quota: Path = QUOTA) -> int:
    """How many processes can work side by side here."""
    most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(most, allowed(quota) or most)


def allowed(quota: Path) -> int:
    """The cores that a file like :data:`QUOTA` leaves to a container; 0 where it names no limit."""
    with suppress(OSError, ValueError):
        used, period = map(int, quota.read_text(encoding="ascii").split())
        return max(1, round(used / period))
    return 0


def in_order(
    work: Callable[[Task], Answer],
    tasks: Sequence[Task],
    workers: int,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Answer]:
    """What ``work`` returns for each task, in the order of the tasks; what it raises for the first
    of them is raised. ``progress`` is called with 1 whenever a task is done.

    Says what ``list(map(work, tasks))`` says, sooner. Killed where a worker is gone.
    """
    outcomes = []
    for done in _all(work, tasks, workers):
        outcomes.append(done)
        progress(1)
    return [done.get() for done in sorted(outcomes, key=lambda done: done.at)]


def mapped(
    workers: int | None = None, progress: Callable[[int], None] = lambda done: None
) -> Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]:
    """:func:`in_order` by so many processes, or by one per core: ``map`` for few long tasks."""
    return partial(in_order, workers=workers or cores(), progress=progress)


def answers(
    work: Callable[[Task], Answer], tasks: Sequence[Task], workers: int
) -> Iterator[Answer]:
    """What ``work`` returns for each task, in the order in which they are done; no worker does
    anything after this.

    Tasks are begun in their order: with the largest first, all end together. Answers are pickled;
    ``work`` and ``tasks``, with all that they refer to, are there already where a process is
    forked. Where the system has none to give, fewer work. What ``work`` raises is raised here;
    Killed where a worker is gone, and FileError where there is no room for what it says.
    """
    with closing(_all(work, tasks, workers)) as outcomes:
        for done in outcomes:
            yield done.get()


def _all(work: Callable[[Task], Any], tasks: Sequence[Task], workers: int) -> Generator[Outcome]:
    """What came of each task; after one that has raised, none is begun."""
    wanted = (
        0 if current_process().daemon else min(workers, len(tasks)) - 1
    )  # a daemon may have no processes of its own
    with ExitStack() as files:
        # what is there stays: to look through it for garbage takes time, and copies every page that
        # workers share
        gc.freeze()
        files.callback(gc.unfreeze)
        shared = _file(files) if wanted > 0 else None
        if shared is None:
            yield from _alone(work, tasks)
        else:
            yield from _together(work, tasks, wanted, shared, files)


def _alone(work: Callable[[Task], Any], tasks: Sequence[Task]) -> Iterator[Outcome]:
    for place in range(len(tasks)):
        done = outcome(work, tasks, place)
        yield done
        if done.error is not None:
            return


def _together(
    work: Callable[[Task], Any],
    tasks: Sequence[Task],
    wanted: int,
    shared: IO[bytes],
    files: ExitStack,
) -> Iterator[Outcome]:
    """By this process and up to so many others; ``shared`` is the file whose position tells what is
    next.
    """
    team: dict[Any, _Worker] = {}
    busy: set[Any] = set()

    def heard(patience: float | None) -> Iterator[Outcome]:
        """What came of the others' tasks until nothing has come for so many seconds, or until all
        has.
        """
        while busy and (ready := wait(busy, patience)):
            for connection in ready:
                place = _heard(connection)
                if place is None:
                    busy.remove(connection)
                else:
                    yield take(place, team[connection].file)

    try:
        with deferred_interrupts():
            while (
                len(team) < wanted and (member := _member(work, tasks, shared, files)) is not None
            ):
                connection, team[connection] = member
        busy.update(team)
        for place in _taken(tasks, shared.fileno()):
            done = outcome(work, tasks, place)
            if done.error is not None:
                _take_all(tasks, shared.fileno())
            yield done
            yield from heard(0)
        yield from heard(None)
    finally:
        with deferred_interrupts():
            for worker in team.values():
                worker.process.kill()
            for connection, worker in team.items():
                # Where nobody is busy, all have done their work; that they give back their memory
                # is not waited for.
                if busy:
                    worker.process.join()
                connection.close()


def _member(
    work: Callable[[Task], Any], tasks: Sequence[Task], shared: IO[bytes], files: ExitStack
) -> tuple[Any, _Worker] | None:
    """One more worker, and the pipe that it speaks through; None where the system has no process or
    no file for it.
    """
    file, fork = _file(files), get_context("fork")
    if file is None:
        return None
    try:
        here, there = fork.Pipe(duplex=False)
    except OSError:
        return None
    with there:
        process = fork.Process(
            target=_serve,
            args=(there, file, work, tasks, shared.fileno(), os.getpid()),
            daemon=True,
        )
        try:
            process.start()
        except OSError:
            here.close()
            return None
    return here, _Worker(process, file)


def _file(files: ExitStack) -> IO[bytes] | None:
    """A file without a name, closed with the others; None where there is no place for one."""
    with suppress(OSError):
        return files.enter_context(TemporaryFile())
    return None


def _taken(tasks: Sequence[object], shared: int) -> Iterator[int]:
    """Places of tasks that nobody else takes. To move a position and to tell it is one step for all
    who share an open file.
    """
    while (place := os.lseek(shared, 1, os.SEEK_CUR) - 1) < len(tasks):
        yield place


def _take_all(tasks: Sequence[object], shared: int) -> None:
    """Leave no task to anybody."""
    os.lseek(shared, len(tasks), os.SEEK_SET)


def _heard(connection: Any) -> Any:
    """Where the next answer of a worker begins and ends in its file; None where there are no
    more.
    """
    try:
        return connection.recv()
    except (EOFError, OSError):
        raise Killed from None


def _serve(
    connection: Any,
    file: IO[bytes],
    work: Callable[[Any], Any],
    tasks: Sequence[Any],
    shared: int,
    parent: int,
) -> None:
    """What a worker does. Ctrl-C is for the process that it works for, and without that one, now or
    later, it ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    with suppress(BrokenPipeError):  # nobody is there to hear it
        for place in _taken(tasks, shared):
            data, wrong = portable(outcome(work, tasks, place))
            if wrong:
                _take_all(tasks, shared)
            connection.send(leave(data, file))
        connection.send(None)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(ORPHANED)
