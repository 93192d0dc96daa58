"""A worker process seen from outside: started, asked, timed, buried and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

from opgen.devices import DeviceError
from opgen.devices.messages import CallRequest, Phase, Ready, Setup
from opgen.model import CRASH, TIMEOUT, UNUSABLE, FileError

START_LIMIT = 120.0
"""Seconds that a worker may take to load the libraries and open the device."""
CALLS_PER_PROCESS = 2000
"""Calls after which a worker is replaced: an executor that is never run is never given back."""
PAUSES = (0.0, 1.0, 4.0)
"""Seconds to wait before each attempt to open a device again, but the last."""
_LAST_WORDS = 400
"""Bytes of a worker's output that are told when it has died."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What came of one request, in so many seconds; a status is a number, or one of
    :data:`opgen.model.STATUS_WORDS`. ``run`` is None where no second phase was to run.
    """

    first: Phase
    run: Phase | None
    time: float


class _Died(Exception):
    """The worker is gone or did not answer in time; the word for a status, and the text."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__(text)
        self.word = word


class Worker:
    """One worker process at a time, which is replaced where it died or cannot be trusted any more.

    DeviceError where the first one does not come up. ``facts`` and ``absent`` are those of
    :class:`opgen.devices.messages.Ready`; ``started`` counts the processes.
    """

    def __init__(
        self,
        setup: Setup,
        timeout: float,
        calls_per_process: int = CALLS_PER_PROCESS,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        self.setup, self.timeout = setup, timeout
        self.calls_per_process, self.pauses = calls_per_process, pauses
        self.started = 0
        self._process = self._start()

    def execute(self, request: CallRequest) -> CallAnswer:
        """Run one request. A worker that dies or hangs is replaced before the next one; its end is
        this answer.
        """
        if self._process.stopped or self._process.calls >= self.calls_per_process:
            self._restart()
        process, begin = self._process, time.monotonic()
        process.calls += 1
        phases: list[Phase] = []
        try:
            process.send(request)
            while len(phases) < 2:
                phases.append(process.receive(begin, self.timeout))
        except _Died as error:
            ran = phases and not phases[0].status and request.data
            where = "in the second" if ran else "after the first" if phases else "in the first"
            phases.append(Phase(error.word, f"{error} {where} phase"))
            process.stop()
        first, seconds = phases[0], time.monotonic() - begin
        run = phases[1] if len(phases) > 1 else None
        if first.status == UNUSABLE or (run and run.status):
            process.stop()  # a device that failed once answers nothing reliably
        if run and not run.status and (first.status or not request.data):
            run = None
        return CallAnswer(first, run, seconds)

    @property
    def stopped(self) -> bool:
        """Whether the process has ended, which the next request would start again."""
        return self._process.stopped

    def stop(self) -> None:
        """End the process, by force if it does not end by itself."""
        self._process.stop()

    def _start(self) -> _Process:
        """A process whose device is open."""
        process = _Process()
        self.started += 1
        try:
            process.send(self.setup)
            reply = process.receive(time.monotonic(), START_LIMIT)
        except _Died as error:
            reply = DeviceError("aclnn", f"the worker process did not start: {error}")
        if isinstance(reply, FileError):
            process.stop()
            raise DeviceError("aclnn", *(problem.text for problem in reply.problems))
        ready: Ready = reply
        self.facts, self.absent = ready.facts, ready.absent
        return process

    def _restart(self) -> None:
        """Replace the process. A device may need a moment after a crash."""
        self._process.stop()
        for pause in self.pauses:
            time.sleep(pause)
            with suppress(DeviceError):
                self._process = self._start()
                return
        self._process = self._start()


class _Process:
    """A process, the pipe to it, and what it writes."""

    def __init__(self) -> None:
        self.pipe, theirs = Pipe()
        self.calls = 0
        self.stopped = False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        source = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH", ""))))
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "opgen.devices.worker", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, "PYTHONPATH": path},
        )
        theirs.close()

    def send(self, message: Setup | CallRequest) -> None:
        try:
            self.pipe.send(message)
        except OSError as error:
            raise _Died(CRASH, str(error)) from None

    def receive(self, begin: float, limit: float) -> Any:
        """The next message, at most ``limit`` seconds after ``begin``."""
        if not self.pipe.poll(max(begin + limit - time.monotonic(), 0)):
            raise _Died(TIMEOUT, f"no answer within {limit:g} s")
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionError):
            raise _Died(CRASH, self._end()) from None

    def _end(self) -> str:
        """How the process ended, and the last lines that it wrote."""
        try:
            code = self._process.wait(10)
        except subprocess.TimeoutExpired:
            return "the worker process closed its pipe"
        known = code < 0 and -code in set(signal.Signals)
        name = signal.Signals(-code).name if known else f"exit status {code}"
        self._log.seek(max(self._log.seek(0, os.SEEK_END) - _LAST_WORDS, 0))
        words = " / ".join(self._log.read().decode("utf-8", "replace").split("\n")).strip(" /")
        return f"the worker process died of {name}" + (f" ({words})" if words else "")

    def stop(self) -> None:
        """Close the pipe, which ends a process that still listens, and kill any other."""
        self.pipe.close()
        try:
            self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):  # stuck in the driver: nothing can be done
                self._process.wait(10)
        self._log.close()
        self.stopped = True
