"""Work is done once by whoever is there, and nobody stays."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing import active_children, get_context

import numpy as np
import pytest

from opgen.computation.processes import AHEAD, Killed, answers


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("tasks", [0, 1, 4, 100])
def test_every_task_is_answered_once(workers: int, tasks: int) -> None:
    assert sorted(answers(lambda task: task * task, range(tasks), workers)) == [task * task for task in range(tasks)]
    assert active_children() == []


def test_what_is_done_first_comes_first() -> None:
    gate = get_context("fork").Event()

    def work(task: int) -> int:
        assert task or gate.wait(60)
        return task

    found = answers(work, range(4), 2)
    assert next(found) == 1
    gate.set()
    assert sorted(found) == [0, 2, 3]


def test_long_answers_and_slow_readers() -> None:
    total = 0
    for answer in answers(lambda task: np.full(1 << 18, task), range(10), 3):
        time.sleep(0.01)
        total += int(answer[-1])
    assert total == 45


def test_what_is_raised_there_is_raised_here_and_tells_where() -> None:
    def work(task: int) -> int:
        return task // (task - 30)

    with pytest.raises(ZeroDivisionError) as caught:
        list(answers(work, range(100), 2))
    assert "return task // (task - 30)" in str(caught.value.__cause__)
    assert active_children() == []


@pytest.mark.parametrize("last", [0, AHEAD, 50, 99])
def test_a_worker_that_is_killed(last: int) -> None:
    def work(task: int) -> int:
        if task == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return task

    with pytest.raises(Killed):
        list(answers(work, range(100), 2))
    assert active_children() == []


def test_who_wants_no_more_leaves_nobody() -> None:
    for _ in answers(lambda task: time.sleep(task), [0, 60, 60], 2):
        break
    assert active_children() == []
