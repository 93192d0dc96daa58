"""The process of a command that runs cases: started, asked, timed, ended."""

from __future__ import annotations

import fcntl
import io
import os
import select
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import NamedTuple, TypeAlias, cast

from opgen.devices.runner import read_frame, write_frame
from opgen.model import CRASH, TIMEOUT
from opgen.numerics.arrays import Array

START_LIMIT = 120.0
"""Seconds that a command may take until its runner is ready: a board may have to boot."""
_LAST_WORDS = 400
"""Bytes of standard error that are told when a runner has ended."""
_PIECE = 1 << 16
"""Bytes that are read at once, at most, unless more are asked for."""
_PIPE = 1 << 20
"""Bytes that a pipe holds, where the system allows it; and that wait before it, at most, but for
those of one case."""

Request: TypeAlias = tuple[Mapping[str, object], Mapping[str, Array]]
"""The head of a frame, and its arrays."""


class Ended(Exception):
    """The runner is gone, or hangs: the word for a status, and a text."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__(text)
        self.word = word


class Answer(NamedTuple):
    """What a runner says of a case, and the arrays behind it."""

    head: Mapping[str, object]
    arrays: Mapping[str, Array]


class Runner:
    """The process of a command, and what it says. Ended where it does not come up in time.

    ``in_flight``: cases that may wait at the runner. ``facts``: what it says of the device.
    ``numeric``: whether it wants calls in numbers (:mod:`opgen.devices.numeric_calls`).
    """

    def __init__(self, command: Sequence[str], limit: float = START_LIMIT) -> None:
        self.stopped = False
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise Ended(CRASH, f"cannot be started: {error.strerror}") from None
        self._pipes = _Pipes(self.process)
        self._answers = io.BufferedReader(self._pipes, _PIECE)
        try:
            ready = self.answer(limit)
        except Ended:
            self.stop()
            raise
        window, facts = ready.head.get("in_flight", 1), ready.head.get("facts", {})
        if not (isinstance(window, int) and window > 0 and isinstance(facts, dict)):
            self.stop()
            raise Ended(CRASH, f"the runner's first frame is {dict(ready.head)}")
        self.in_flight, self.facts, self.numeric = window, facts, bool(ready.head.get("numeric"))

    def ask(self, requests: Iterable[Request]) -> None:
        """Ask for a case. What is asked is sent while somebody waits for an answer."""
        for request in requests:
            write_frame(self._pipes, *request)

    def takes(self, room: int) -> bool:
        """Whether to ask more of a runner that has room for so many cases."""
        return room > 0 and len(self._pipes.unsent) < _PIPE

    def answer(self, limit: float) -> Answer:
        """The next answer. Ended where there is none in so many seconds, or no more."""
        self._pipes.wait_for(limit)
        self._pipes.send()
        try:
            frame = read_frame(self._answers)
        except TimeoutError as error:
            raise Ended(TIMEOUT, str(error)) from None
        except Exception as error:  # noqa: BLE001  a runner may write anything
            said = f"the runner wrote something that is not a frame: {error}"
        else:
            if frame is not None:
                return Answer(*frame)
            said = "the runner ended"
        raise Ended(CRASH, f"{said}{self._told()}")

    def stop(self) -> None:
        """End the process and those that it started, by force if they do not end by themselves."""
        self.stopped = True
        self._pipes.close_input()
        end = monotonic() + 1
        while self.process.poll() is None and monotonic() < end:
            sleep(0.002)  # Popen.wait would sleep longer and longer
        with suppress(ProcessLookupError, PermissionError), self.process:  # and close its pipes
            os.killpg(self.process.pid, signal.SIGKILL)

    def _told(self) -> str:
        """How the process ended, and its last words."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1)
        code = self.process.returncode
        ended = f" with exit code {code}" if code is not None and code >= 0 else ""
        killed = f" by signal {-code}" if code and code < 0 else ""
        words = self._pipes.last_words().decode(errors="replace").strip().splitlines()
        return f"{ended}{killed}{': ' + words[-1] if words else ''}"


class _Pipes(io.RawIOBase):
    """The standard streams of a process as one stream, which is written to and read from at once:
    whoever waits for bytes sends what is left to send meanwhile, so neither side waits for ever.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._input, self._output, self._errors = (
            cast(io.FileIO, pipe) for pipe in (process.stdin, process.stdout, process.stderr)
        )
        for pipe in (self._input, self._output, self._errors):
            os.set_blocking(pipe.fileno(), False)
            with suppress(AttributeError, OSError):  # as only some systems can, and up to a limit
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)
        self.unsent, self._words = bytearray(), bytearray()
        self._begin = self._limit = 0.0

    def wait_for(self, limit: float) -> None:
        """Give what is read from now on so many seconds."""
        self._begin, self._limit = monotonic(), limit

    def write(self, content: bytes) -> None:  # type: ignore[override]
        """Content to send."""
        self.unsent += content

    def send(self) -> None:
        """Send what the pipe takes."""
        try:
            while self.unsent and (taken := self._input.write(self.unsent)):
                del self.unsent[:taken]
        except (OSError, ValueError):  # nobody reads any more, which the other pipe shows, too
            self.close_input()

    def readable(self) -> bool:
        """As a buffer before it asks."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Wait for bytes; there are none at the end of what the process writes. TimeoutError where
        they take too long.
        """
        count = None
        while count is None and not self._output.closed:
            self._exchange(self._output, self._errors)
            count = self._output.readinto(buffer)
        if not count:
            self._output.close()
        return count or 0

    def _exchange(self, *pipes: io.FileIO) -> None:
        """Wait until one of these pipes is ready, or the process takes more; send, and note words
        meanwhile.
        """
        ready = select.poll()
        for pipe in pipes:
            if not pipe.closed:
                ready.register(pipe, select.POLLIN)
        if self.unsent:
            ready.register(self._input, select.POLLOUT)
        left = self._begin + self._limit - monotonic()
        if not ready.poll(max(left, 0.0) * 1000):
            raise TimeoutError(f"no answer in {monotonic() - self._begin:.0f} s")
        self.send()
        words = None if self._errors.closed else self._errors.read(_PIECE)
        self._words = (self._words + (words or b""))[-_LAST_WORDS:]
        if words == b"":
            self._errors.close()

    def last_words(self) -> bytes:
        """The end of what the process wrote to its standard error."""
        self.wait_for(1.0)
        with suppress(TimeoutError):
            while not self._errors.closed:
                self._exchange(self._errors)
        return bytes(self._words)

    def close_input(self) -> None:
        """Send nothing more."""
        self.unsent.clear()
        self._input.close()
