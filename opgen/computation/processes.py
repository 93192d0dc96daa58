"""Work for this process and for forked ones, each at the other end of a pipe of its own.

Nothing is shared between them, and no thread of this process takes part (a forked one has a thread that ends it with its parent),
so that whatever ends the work, an interrupt or a worker that is killed, ends it at once. The pools of the standard library can
wait for ever then: for a lock that the interrupted thread has left locked, or for the rest of an answer that a worker was killed
in the middle of.

This process works, too. One that only gave out tasks would share a core with those that work, and each fork is memory to copy.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from typing import Any, TypeVar

from opgen.bundle.interrupts import held_back

AHEAD = 2
"""Tasks that a forked worker has at a time: it goes on with the second while its answer to the first waits to be read."""

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Killed(Exception):
    """A worker has ended without having been told to."""


def answers(work: Callable[[Task], Answer], tasks: Iterable[Task], workers: int) -> Iterator[Answer]:
    """What ``work`` returns for each task, in the order in which they are done; no worker outlives this.

    Give the largest tasks first: while this process works, it hands out nothing, and each of the others is left with tasks that
    were handed out before, and so are no smaller. Tasks and answers travel through pipes, and should be few and small; ``work``,
    with all that it refers to, is there already where a process is forked. What it raises is raised here; Killed where a worker
    is gone.
    """
    fork, left, under_way = get_context("fork"), iter(tasks), 0
    team: dict[Any, ForkProcess] = {}

    def heard(patience: float | None) -> Iterator[Answer]:
        """Answers of the others until none has come for so many seconds, or until all have; each gets the next task for it."""
        nonlocal under_way
        while under_way and (ready := wait([*team], patience)):
            for connection in ready:
                answer, error, trace = _heard(connection)
                under_way += _give(connection, left) - 1
                if error is not None:
                    raise error from RuntimeError(f"in a worker:\n{trace}")
                yield answer

    gc.freeze()  # else the workers' collectors touch, and so copy, every page that they share
    try:
        with held_back():
            for _ in range(workers - 1):
                here, there = fork.Pipe()
                process = fork.Process(target=_serve, args=(there, work, os.getpid()), daemon=True)
                process.start()
                team[here] = process
                there.close()
        under_way += sum(_give(connection, left) for connection in team)
        mine = list(islice(left, 1))  # before any waits for a worker that is busy
        under_way += sum(_give(connection, left) for connection in [*team] * (AHEAD - 1))
        for task in chain(mine, left):
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


def _give(connection: Any, left: Iterator[Any]) -> int:
    """Hand out the next task, if there is one; how many that were."""
    for task in islice(left, 1):
        with suppress(ConnectionError):  # nobody is there: it is noticed where an answer is awaited
            connection.send(task)
        return 1
    return 0


def _heard(connection: Any) -> Any:
    try:
        return connection.recv()
    except (EOFError, OSError):
        raise Killed from None


def _serve(connection: Any, work: Callable[[Any], Any], parent: int) -> None:
    """What a worker does. Ctrl-C is for the process that it works for, and without that one, now or later, it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    while True:
        task = connection.recv()
        try:
            connection.send((work(task), None, ""))
        except Exception as error:  # noqa: BLE001  it is raised again where the work was asked for
            connection.send((None, error, "".join(traceback.format_exception(error))))


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
