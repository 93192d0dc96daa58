"""A worker process seen from outside: started, asked, timed, buried and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import numpy as np

import opgen
from opgen.devices.libraries import DeviceError
from opgen.devices.messages import Failed, First, Ready, Request, Setup, Unusable
from opgen.model import CRASH, TIMEOUT, UNUSABLE, Code

START_LIMIT = 120.0
"""Seconds that a worker may take to load the libraries and open the device."""
RENEW = 2000
"""Calls after which a worker is replaced: an executor that is never run is never given back."""
PAUSES = (0.0, 1.0, 4.0)
"""Seconds to wait before each attempt to open a device again, but the last."""
_TAIL = 400


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request; a status is a number, or one of
    :data:`opgen.model.STATUS_WORDS`.
    """

    status: Code
    run_status: Code | None
    error: str
    time: float
    outputs: dict[int, np.ndarray] = field(default_factory=dict)
    changed: tuple[int, ...] = ()


class _Died(Exception):
    """The worker is gone or did not answer in time; the word for a status, and the text."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__(text)
        self.word = word


class Worker:
    """One worker at a time. Use it as a context manager; DeviceError where the first one does not
    come up.
    """

    def __init__(self, setup: Setup, timeout: float) -> None:
        self.setup = setup
        self.timeout = timeout
        self.facts: dict[str, str] = {}
        self.absent: dict[str, tuple[str, ...]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._log: Any = None
        self._calls = 0
        self.start()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start a worker and wait until its device is open."""
        self.stop()
        mine, theirs = Pipe()
        self._pipe = mine
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        path = os.pathsep.join(
            filter(None, (str(Path(opgen.__file__).parents[1]), os.environ.get("PYTHONPATH", "")))
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "opgen.devices.worker", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": path},
        )
        theirs.close()
        self._calls = 0
        try:
            mine.send(self.setup)
            reply = self._receive(time.monotonic() + START_LIMIT)
        except (_Died, OSError) as error:
            self.stop()
            raise DeviceError(f"the worker process did not start: {error}") from None
        if isinstance(reply, Failed):
            self.stop()
            raise DeviceError(*reply.lines)
        assert isinstance(reply, Ready)
        self.facts, self.absent = reply.facts, reply.absent

    def _restart(self) -> None:
        """A device may need a moment after a crash."""
        for pause in PAUSES:
            time.sleep(pause)
            with suppress(DeviceError):
                return self.start()
        self.start()

    def stop(self) -> None:
        """End the worker, by force if it does not end by itself."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if self._process is not None:
            try:
                self._process.wait(0.5 if self._process.poll() is None else 0)
            except subprocess.TimeoutExpired:
                self._kill()
            self._process = None
        if self._log is not None:
            self._log.close()
            self._log = None

    def execute(self, request: Request) -> Answer:
        """Run one request. A worker that dies or hangs is replaced before the next one; its end is
        this answer.
        """
        if self._pipe is None or self._calls >= RENEW:
            self._restart()
        assert self._pipe is not None
        self._calls += 1
        begin = time.monotonic()
        first: First | None = None
        try:
            self._pipe.send(request)
            first = reply = self._receive(begin + self.timeout)
            if isinstance(reply, First):
                reply = self._receive(begin + self.timeout)
        except (_Died, OSError) as error:
            word = error.word if isinstance(error, _Died) else CRASH
            phase = "after the first" if first is not None and first.last else "in the second"
            text = f"{error} {'in the first' if first is None else phase} phase"
            self._kill()
            self.stop()
            statuses: tuple[Code, Code | None] = (
                (word, None) if first is None else (first.status, word)
            )
            return Answer(*statuses, text, time.monotonic() - begin)
        seconds = time.monotonic() - begin
        if isinstance(reply, Unusable):
            self.stop()
            status: Code = UNUSABLE if not isinstance(first, First) else first.status
            return Answer(status, None if status == UNUSABLE else UNUSABLE, reply.error, seconds)
        assert first is not None
        if first.last:
            return Answer(first.status, None, first.error, seconds)
        if reply.status:
            self.stop()  # a device that failed once answers nothing reliably
        return Answer(
            first.status, reply.status, reply.error, seconds, reply.outputs, reply.changed
        )

    def _receive(self, until: float) -> Any:
        assert self._pipe is not None
        if not self._pipe.poll(max(until - time.monotonic(), 0)):
            raise _Died(TIMEOUT, f"no answer within {self.timeout:g} s")
        try:
            return self._pipe.recv()
        except (EOFError, ConnectionError):
            raise _Died(CRASH, self._end()) from None

    def _end(self) -> str:
        """How the worker ended, and the last lines that it wrote."""
        assert self._process is not None
        try:
            code = self._process.wait(10)
        except subprocess.TimeoutExpired:
            return "the worker process closed its pipe"
        name = (
            signal.Signals(-code).name
            if code < 0 and -code in set(signal.Signals)
            else f"exit status {code}"
        )
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(self._log.tell() - _TAIL, 0))
        said = " / ".join(self._log.read().decode("utf-8", "replace").split("\n")).strip(" /")
        return f"the worker process died of {name}" + (f" ({said})" if said else "")

    def _kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            with suppress(
                subprocess.TimeoutExpired
            ):  # then it is stuck in the driver, and nothing can be done from here
                self._process.wait(10)
