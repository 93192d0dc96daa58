"""Work is done once by whoever is there, and nobody stays."""

from __future__ import annotations

import errno
import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from multiprocessing import active_children, get_context
from multiprocessing.context import ForkContext, ForkProcess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opgen.generation import forked
from opgen.generation.forked import Killed
from opgen.generation.processes import allowed, answers, cores, in_order
from opgen.model import FileError, Problem
from opgen.spec.catalog import catalog
from opgen.suite.selection import Request
from tests.support.suites import SLOW

ENUMERATES = "processes of its own"
"""What is enumerated here, so that nothing is taken from what the run has enumerated before."""


def nobody_is_left() -> bool:
    """Whether all have ended by themselves, as far as that takes a moment, and been waited for."""
    end = time.monotonic() + 10
    while active_children() and time.monotonic() < end:
        time.sleep(0.01)
    return not active_children()


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("tasks", [0, 1, 4, 100])
def test_every_task_is_answered_once(workers: int, tasks: int) -> None:
    assert sorted(answers(lambda task: task * task, range(tasks), workers)) == [
        task * task for task in range(tasks)
    ]
    assert nobody_is_left()


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
    assert all(
        [task for _, task in each] == sorted(task for _, task in each) for each in begun.values()
    )


@pytest.mark.parametrize(("tasks", "workers"), [(2, 2), (3, 3), (4, 2), (9, 3)])
def test_everybody_works(tasks: int, workers: int) -> None:
    """The first tasks end when as many are begun as there are workers; one who took two would wait
    for ever.
    """
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


def test_others_go_on_while_nobody_reads() -> None:
    """Answers of far more bytes than a pipe holds, whole before this process looks at the first."""
    here = os.getpid()

    def work(task: int) -> tuple[bytes, int, float]:
        if os.getpid() == here:
            time.sleep(1)
        return bytes(1 << 20), os.getpid(), time.monotonic()

    found = list(answers(work, range(12), 2))
    ends = [end for _, process, end in found if process != here]
    assert len(ends) == 11 and max(ends) < min(end for _, process, end in found if process == here)
    assert all(len(data) == 1 << 20 for data, _, _ in found)


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


def test_answers_that_find_no_room_are_said_and_not_waited_for() -> None:
    """A file may not grow beyond its limit, say that of a disk."""
    gate = get_context("fork").Barrier(2)

    def long(task: int) -> bytes:
        gate.wait(60)
        return bytes(1 << 20)

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        with pytest.raises(
            FileError,
            match=(
                "has no room for messages of a worker: File too large; TMPDIR names another folder$"
            ),
        ):
            list(answers(long, range(2), 2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert active_children() == []


@pytest.mark.parametrize("refused", ["a file", "the second file", "a pipe", "a process"])
def test_where_the_system_gives_no_processes_this_one_works(
    refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, right = count(1), forked.TemporaryFile

    def refuse(*given: Any, **more: Any) -> Any:
        if refused != "the second file" or next(calls) > 1:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return right()

    place = {"a pipe": (ForkContext, "Pipe"), "a process": (ForkProcess, "start")}.get(
        refused, (forked, "TemporaryFile")
    )
    monkeypatch.setattr(*place, refuse)
    assert set(answers(lambda task: (task, os.getpid()), range(5), 3)) == {
        (task, os.getpid()) for task in range(5)
    }


def test_a_daemon_works_alone() -> None:
    here, there = get_context("fork").Pipe(duplex=False)
    daemon = get_context("fork").Process(
        target=lambda: there.send(in_order(lambda task: task, range(3), 3)), daemon=True
    )
    daemon.start()
    assert here.poll(60) and here.recv() == [0, 1, 2]
    daemon.join()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_in_order(workers: int) -> None:
    def slow_first(task: int) -> tuple[int, int]:
        time.sleep(0.1 if task == 0 else 0)
        return task, -task

    assert in_order(slow_first, range(9), workers) == [(task, -task) for task in range(9)]
    assert in_order(slow_first, [], workers) == []

    def all_but_some(task: int) -> int:
        time.sleep(0.1 if task == 3 else 0)
        if task in (3, 4, 8):
            raise FileError([Problem(f"{task}.yaml", None, "", "is no good")])
        return task

    with pytest.raises(FileError, match=r"^3.yaml: is no good$"):
        in_order(all_but_some, range(9), workers)
    assert nobody_is_left()


@pytest.mark.parametrize("workers", [1, 2])
def test_after_an_error_no_task_is_begun(workers: int, tmp_path: Path) -> None:
    def work(task: int) -> None:
        (tmp_path / str(task)).touch()
        time.sleep(0.01)
        raise FileError([Problem(f"{task}.yaml", None, "", "is no good")])

    with pytest.raises(FileError, match=r"^0.yaml: is no good$"):
        in_order(work, range(100), workers)
    assert len(list(tmp_path.iterdir())) <= workers


@pytest.mark.parametrize(
    ("text", "most"),
    [("200000 100000", 2), ("50000 100000", 1), ("max 100000", 0), ("", 0), (None, 0)],
)
def test_cores_are_as_many_as_a_container_may_use(
    text: str | None, most: int, tmp_path: Path
) -> None:
    quota = tmp_path / "cpu.max"
    if text is not None:
        quota.write_text(text)
    assert allowed(quota) == most
    unlimited = cores(tmp_path / "none")
    assert cores(quota) == min(most or unlimited, unlimited)


def test_cores_are_those_that_this_process_may_use() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
    if hasattr(os, "sched_setaffinity"):
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(before)})
        try:
            assert cores() == 1
        finally:
            os.sched_setaffinity(0, before)


def test_suites_are_enumerated_side_by_side_to_the_same_cases() -> None:
    """Page by page, with what was found out beside the calls."""
    some = ["avg_pool2d_backward", "reflection_pad2d_backward", "convolution_backward"]
    request, here = Request(some if SLOW else some[:2]), os.getpid()
    workers: list[int] = []

    def each(work: Callable[[Any], Any], pages: Sequence[Any]) -> list[Any]:
        found = in_order(lambda page: (work(page), os.getpid()), pages, 3)
        workers.extend(process for _, process in found)
        return [draft for draft, _ in found]

    alone, together = request.suite(), request.suite(each)
    pages = [spec for op in request.operators for spec in catalog().of(catalog().api(op))]
    assert len(workers) == len(pages) == (7 if SLOW else 4) and set(workers) > {here}
    assert (
        list(together.cases) == list(alone.cases)
        and list(together.cases.purposes) == list(alone.cases.purposes)
        and together.without_data == alone.without_data
    )
    assert list(together.reports) == list(alone.reports)
    for name, report in alone.reports.items():
        other = together.reports[name]
        assert (
            (other.levels == report.levels).all()
            and other.untried == report.untried
            and other.unreached == report.unreached
        )
    assert [batch.ids for batch in together.batches] == [batch.ids for batch in alone.batches]


def test_an_enumeration_whose_worker_is_killed() -> None:
    here = os.getpid()

    def each(work: Callable[[Any], Any], pages: Sequence[Any]) -> list[Any]:
        def fatal(page: Any) -> Any:
            if os.getpid() != here:
                os.kill(os.getpid(), signal.SIGKILL)
            return work(page)

        return in_order(fatal, pages, 2)

    with pytest.raises(FileError) as caught:
        Request(() if SLOW else ("avg_pool2d_backward", "convolution_backward")).suite(each)
    assert str(caught.value) == "opgen: a worker process was killed, perhaps for lack of memory"
    assert active_children() == []
