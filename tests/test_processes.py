"""Work is done once by whoever is there, and nobody stays."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from itertools import count
from multiprocessing import active_children, get_context
from pathlib import Path

import numpy as np
import pytest

from opgen.computation.processes import UNREAD, Killed, answers


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("tasks", [0, 1, 4, 100])
def test_every_task_is_answered_once(workers: int, tasks: int) -> None:
    assert sorted(answers(lambda task: task * task, range(tasks), workers)) == [task * task for task in range(tasks)]
    assert active_children() == []


def test_what_is_done_first_comes_first() -> None:
    here, gate = os.getpid(), get_context("fork").Event()

    def work(task: int) -> tuple[int, bool]:
        assert os.getpid() == here or gate.wait(60)
        return task, os.getpid() == here

    found = answers(work, range(6), 2)
    first = next(found)
    assert first in [(0, True), (1, True)]  # this process does one, and the other waits
    gate.set()
    assert sorted(task for task, _ in [first, *found]) == list(range(6))


def test_tasks_are_begun_in_their_order() -> None:
    def work(task: int) -> tuple[float, int]:
        return time.monotonic(), task

    begun: dict[int, list[tuple[float, int]]] = {}
    for process, one in answers(lambda task: (os.getpid(), work(task)), range(1000), 3):
        begun.setdefault(process, []).append(one)
    assert all([task for _, task in each] == sorted(task for _, task in each) for each in begun.values())


@pytest.mark.parametrize(("tasks", "workers"), [(2, 2), (3, 3), (4, 2), (9, 3)])
def test_everybody_works(tasks: int, workers: int) -> None:
    """The first tasks end when as many are begun as there are workers; one who took two would wait for ever."""
    gate = get_context("fork").Barrier(workers)

    def work(task: int) -> int:
        if task < workers:
            gate.wait(60)
        return os.getpid()

    counts = Counter(answers(work, range(tasks), workers))
    assert os.getpid() in counts and len(counts) == workers and counts.total() == tasks


def test_a_long_task_here_is_the_only_one_here() -> None:
    here = os.getpid()

    def work(task: int) -> int:
        time.sleep(1 if os.getpid() == here else 0.001)
        return os.getpid()

    start = time.monotonic()
    counts = Counter(answers(work, range(200), 2))
    assert counts[here] == 1 and time.monotonic() - start < 3


@pytest.mark.skipif(not Path("/proc/sys/fs/pipe-max-size").exists(), reason="only Linux has such a room")
def test_others_go_on_while_nobody_reads() -> None:
    """Answers of nearly as many bytes as there is room for, whole before this process looks at the first."""
    here, size, room = os.getpid(), UNREAD // 16, int(Path("/proc/sys/fs/pipe-max-size").read_text())
    if room < UNREAD:
        pytest.skip("this system grants less room")

    def work(task: int) -> tuple[bytes, int, float]:
        if os.getpid() == here:
            time.sleep(1)
        return bytes(size), os.getpid(), time.monotonic()

    found = list(answers(work, range(12), 2))
    ends = [end for _, process, end in found if process != here]
    assert len(ends) == 11 and max(ends) < min(end for _, process, end in found if process == here)


def test_long_answers_and_slow_readers() -> None:
    total = 0
    for answer in answers(lambda task: np.full(1 << 18, task), range(10), 3):
        time.sleep(0.01)
        total += int(answer[-1])
    assert total == 45


def test_what_is_raised_there_is_raised_here_and_tells_where() -> None:
    here = os.getpid()

    def work(task: int) -> int:
        if os.getpid() != here:
            return task // (task - task)
        time.sleep(0.1)  # leaves something to the other, however busy the machine is
        return task

    with pytest.raises(ZeroDivisionError) as caught:
        list(answers(work, range(100), 2))
    assert "task // (task - task)" in str(caught.value.__cause__)
    assert active_children() == []


def test_what_is_raised_here_leaves_nobody() -> None:
    here = os.getpid()

    def work(task: int) -> int:
        return task // (task - task) if os.getpid() == here else task

    with pytest.raises(ZeroDivisionError):
        list(answers(work, range(100), 2))
    assert active_children() == []


@pytest.mark.parametrize("nth", [1, 2, 20, 40])
def test_a_worker_that_is_killed(nth: int) -> None:
    here, done = os.getpid(), count(1)

    def work(task: int) -> int:
        if os.getpid() == here:
            time.sleep(0.002)  # leaves enough to the other
        elif next(done) == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return task

    with pytest.raises(Killed):
        for _ in answers(work, range(10_000), 2):
            pass
    assert active_children() == []


def test_who_wants_no_more_leaves_nobody() -> None:
    here, start = os.getpid(), time.monotonic()
    for _ in answers(lambda task: time.sleep(0 if os.getpid() == here else 60), range(3), 2):
        break
    assert active_children() == [] and time.monotonic() - start < 30
