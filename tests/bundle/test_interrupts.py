"""Ctrl-C at the worst of moments: neither lost, nor taken for another error, nor the beginning of a
wait without end.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from opgen.bundle.format import heading
from opgen.bundle.format.interrupts import deferred_interrupts
from opgen.bundle.write.output import partial
from opgen.generation import engine, outcomes

INTERRUPTED, DONE = 7, 8
STEP = 1 << 14
"""So few elements at a time that a small suite is many pieces of work."""


def interrupt(process: int) -> None:
    os.kill(process, signal.SIGINT)
    time.sleep(0.05)


def end(
    suite: engine.Suite, path: Path, prepare: Callable[[], object], workers: int = 2
) -> int | None:
    """How a process ends that writes after ``prepare``; None where it does not."""

    def write() -> None:
        # What measures the tests takes a lock of its own; an interrupt then leaves it locked.
        sys.settrace(None)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        prepare()
        try:
            engine.write(suite, path, {}, workers=workers, chunk=STEP)
        except KeyboardInterrupt:
            os._exit(INTERRUPTED)
        os._exit(DONE)

    process = get_context("fork").Process(target=write)
    process.start()
    process.join(60)
    process.kill()
    process.join()
    return None if process.exitcode == -signal.SIGKILL else process.exitcode


def test_what_ctrl_c_does_it_does_at_the_end() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            reached.append("inner")
        reached.append("outer")
    assert reached == ["inner", "outer"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_who_ignores_it_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_holds_nothing_back() -> None:
    found = []

    def run() -> None:
        with deferred_interrupts():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_in_a_callback_that_drops_exceptions_while_the_file_is_made(
    small_suite: engine.Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDF5's objects are kept in a dictionary of weak references."""
    right = heading.stored

    class Thing:
        pass

    def attribute(value: Any) -> Any:
        thing = Thing()
        reference = weakref.ref(thing, lambda _: interrupt(os.getpid()))
        del thing
        assert reference() is None
        return right(value)

    monkeypatch.setattr(heading, "stored", attribute)
    with pytest.raises(KeyboardInterrupt):
        engine.write(small_suite, tmp_path / "suite.h5", {}, chunk=STEP)
    assert os.listdir(tmp_path) == []


def test_in_the_hooks_of_a_fork(small_suite: engine.Suite, tmp_path: Path) -> None:
    """They drop exceptions too; and a progress bar has a thread that takes the signal where this
    one blocks it.
    """

    def prepare() -> None:
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside a thread
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        writer = os.getpid()
        os.register_at_fork(
            before=lambda: interrupt(writer), after_in_child=lambda: interrupt(os.getpid())
        )

    assert end(small_suite, tmp_path / "suite.h5", prepare) == INTERRUPTED


def test_between_an_answer_and_the_word_of_it(
    small_suite: engine.Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, work, first = outcomes.leave, outcomes.outcome, os.getpid()
    begun = get_context("fork").Event()

    def shared(*task: Any) -> Any:
        """The writer does nothing before the other has something to do."""
        if os.getppid() == first:
            begun.wait(30)
        else:
            begun.set()
        return work(*task)

    def slow(*answer: Any) -> Any:
        place = right(*answer)
        if os.getppid() != first:
            interrupt(os.getppid())
            time.sleep(60)
        return place

    monkeypatch.setattr(outcomes, "leave", slow)
    monkeypatch.setattr(outcomes, "outcome", shared)
    assert end(small_suite, tmp_path / "suite.h5", lambda: None) == INTERRUPTED


def test_no_thread_takes_part(small_suite: engine.Suite, tmp_path: Path) -> None:
    """An interrupt can leave a lock behind that another thread waits for."""
    before, threads = threading.active_count(), set()
    engine.write(
        small_suite,
        tmp_path / "suite.h5",
        {},
        workers=2,
        chunk=STEP,
        progress=lambda cases: threads.add(threading.active_count()),
    )
    assert threads == {before}
    assert not partial(tmp_path / "suite.h5").exists()
