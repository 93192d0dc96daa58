"""The process of a command that runs cases: started, asked through threads, timed, ended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import IO, BinaryIO, NamedTuple, TypeAlias, cast

from opgen.devices.runner import read_frame, write_frame
from opgen.model import CRASH, TIMEOUT
from opgen.numerics.arrays import Array

START_LIMIT = 120.0
"""Seconds that a command may take until its runner is ready: a board may have to boot."""
_LAST_WORDS = 400
"""Bytes of standard error that are told when a runner has ended."""

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
            )
        except OSError as error:
            raise Ended(CRASH, f"cannot be started: {error.strerror}") from None
        self._requests: SimpleQueue[Request | None] = SimpleQueue()
        self._answers: SimpleQueue[Answer | Ended] = SimpleQueue()
        self._words = bytearray()
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()
        for work in (self._send, self._receive):
            Thread(target=work, daemon=True).start()
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
        """Send what is asked of a case, soon."""
        for request in requests:
            self._requests.put(request)

    def answer(self, limit: float) -> Answer:
        """The next answer. Ended where there is none in so many seconds, or no more."""
        begin = monotonic()
        try:
            answer = self._answers.get(timeout=limit)
        except Empty:
            raise Ended(TIMEOUT, f"no answer in {monotonic() - begin:.0f} s") from None
        if isinstance(answer, Ended):
            raise answer
        return answer

    def stop(self) -> None:
        """End the process and those that it started, by force if they do not end by themselves."""
        self.stopped = True
        self._requests.put(None)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _send(self) -> None:
        pipe = _open(self.process.stdin)
        with suppress(OSError, ValueError), pipe:
            while (request := self._requests.get()) is not None:
                write_frame(pipe, *request)

    def _receive(self) -> None:
        with _open(self.process.stdout) as pipe:
            try:
                while (frame := read_frame(pipe)) is not None:
                    self._answers.put(Answer(*frame))
                end = "the runner ended"
            except Exception as error:  # noqa: BLE001  a runner may write anything
                end = f"the runner wrote something that is not a frame: {error}"
        self._answers.put(Ended(CRASH, f"{end}{self._told()}"))

    def _listen(self) -> None:
        with _open(self.process.stderr) as pipe:
            while words := pipe.read1(4096):  # type: ignore[attr-defined]
                self._words += words
                del self._words[:-_LAST_WORDS]

    def _told(self) -> str:
        """How the process ended, and its last words."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1)
        self._listener.join(timeout=1)
        code = self.process.returncode
        ended = f" with exit code {code}" if code and code > 0 else ""
        killed = f" by signal {-code}" if code and code < 0 else ""
        words = self._words.decode(errors="replace").strip().splitlines()
        return f"{ended}{killed}{': ' + words[-1] if words else ''}"


def _open(pipe: IO[bytes] | None) -> BinaryIO:
    return cast(BinaryIO, pipe)
