"""Ctrl-C, where it must not strike."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """What Ctrl-C does in this block, it does at its end.

    For short pieces of work that an exception from nowhere would break: HDF5 and the hooks of a
    fork drop it, so that the command goes on, or turn it into another error. A signal mask would
    not do: the kernel gives the signal to another thread, say that of a progress bar, and Python
    raises here all the same. Does nothing outside the main thread, where nothing is ever raised.
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
