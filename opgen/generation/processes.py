"""Work for this process and for forked ones (:mod:`opgen.generation.forked`).

No thread of this process takes part, and no lock (a forked one has a thread that ends it with its
parent), so that whatever ends the work, an interrupt or a worker that is killed, ends it at once.
The pools of the standard library can wait for ever then: for a lock that the interrupted thread has
left locked, or for the rest of an answer that a worker was killed in the middle of.

This process works, too. One that only listened would share a core with those that work, and each
fork is memory to copy.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from multiprocessing import current_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import IO, Any, TypeVar

from opgen.bundle.format.interrupts import deferred_interrupts
from opgen.generation import outcomes
from opgen.generation.forked import Forked, started, take_all, taken, told, unnamed_file
from opgen.generation.outcomes import Outcome, take

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Where Linux says what a container may use: microseconds of all cores, or ``max``, and in how
many."""

Task = TypeVar("Task")
Answer = TypeVar("Answer")


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
    finished = []
    for done in _all(work, tasks, workers):
        finished.append(done)
        progress(1)
    return [done.get() for done in sorted(finished, key=lambda done: done.at)]


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
    with closing(_all(work, tasks, workers)) as finished:
        for done in finished:
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
        shared = unnamed_file(files) if wanted > 0 else None
        if shared is None:
            yield from _alone(work, tasks)
        else:
            yield from _together(work, tasks, wanted, shared, files)


def _alone(work: Callable[[Task], Any], tasks: Sequence[Task]) -> Iterator[Outcome]:
    for place in range(len(tasks)):
        done = outcomes.outcome(work, tasks, place)
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
    team: dict[Any, Forked] = {}
    busy: set[Any] = set()

    def heard(patience: float | None) -> Iterator[Outcome]:
        """What came of the others' tasks until nothing has come for so many seconds, or until all
        has.
        """
        while busy and (ready := wait(busy, patience)):
            for connection in ready:
                place = told(connection)
                if place is None:
                    busy.remove(connection)
                else:
                    yield take(place, team[connection].file)

    try:
        with deferred_interrupts():
            while (
                len(team) < wanted and (member := started(work, tasks, shared, files)) is not None
            ):
                connection, team[connection] = member
        busy.update(team)
        for place in taken(tasks, shared.fileno()):
            done = outcomes.outcome(work, tasks, place)
            if done.error is not None:
                take_all(tasks, shared.fileno())
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
