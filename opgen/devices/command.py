"""A device behind a command: ``--backend 'cmd:ssh board python3 runner.py my_device'``.

The command starts a runner, which reads cases from its standard input and writes answers to its
standard output (BACKENDS.md). A runner that ends or hangs is started again.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import IO, BinaryIO, NamedTuple, cast

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.devices import Backend, DeviceError, DeviceLost
from opgen.devices.runner import read_frame, write_frame
from opgen.model import CRASH, TIMEOUT, Code, TensorDesc
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES

START_LIMIT = 120.0
"""Seconds that a command may take until its runner is ready: a board may have to boot."""
STARTS = 3
"""Attempts to start a runner again, before the device counts as lost."""
ENDS = 3
"""Times that a runner ends at a case before the case is what ends it: connections break, too."""
_LAST_WORDS = 400
"""Bytes of standard error that are told when a runner has ended."""


class Ended(Exception):
    """The runner is gone, or hangs: the word for a status, and a text."""

    def __init__(self, word: str, text: str) -> None:
        super().__init__(text)
        self.word = word


class Answer(NamedTuple):
    """What a runner says of a case, and the arrays behind it."""

    head: Mapping[str, object]
    arrays: Mapping[str, Array]


class CommandBackend(Backend):
    """What a runner behind a command answers; ``device`` is the command, as a shell would split it.

    A case at which the runner ends is asked again, alone: if the runner ends :data:`ENDS` times, it
    was the case, and its status is ``crash``.
    """

    name = "cmd"

    def open(self, bundle: Bundle, cases: Sequence[str]) -> Mapping[str, object]:
        """Start the runner; DeviceError where it does not come up."""
        self.runner: Runner | None = None
        try:
            self.command = shlex.split(self.device)
        except ValueError as error:
            raise DeviceError("--backend cmd", f"cannot split the command: {error}") from None
        if not self.command:
            text = "needs a command, as in --backend 'cmd:ssh board python3 runner.py my_device'"
            raise DeviceError("--backend cmd", text)
        self.bundle = bundle
        try:
            self.runner = Runner(self.command)
        except Ended as error:
            raise DeviceError("--backend cmd", f"{self.device}: {error}") from None
        return {"runner": self.runner.facts}

    def answers(self, cases: Sequence[str]) -> Iterator[Result]:
        """One answer to each case, in their order, but for those that are asked again."""
        waiting, asked = deque(cases), deque[str]()
        ends = 0  # of the runner, at the case that is next
        while waiting or asked:
            runner = self._running()
            try:
                while waiting and len(asked) < (1 if ends else runner.in_flight):
                    asked.append(waiting.popleft())
                    runner.ask(self.bundle[asked[-1]])
                answer = runner.answer(self.timeout)
            except Ended as end:
                runner.stop()
                waiting.extendleft(reversed(asked))
                asked.clear()
                ends += 1
                if end.word == CRASH and ends < ENDS:
                    continue
                ends = 0
                yield Result(waiting.popleft(), end.word, error=str(end))
                continue
            case, ends = asked.popleft(), 0
            if answer.head.get("case") != case:
                runner.stop()
                text = f"the runner answered {answer.head.get('case')!r}; it takes cases in order"
                raise DeviceLost(f"at {case}", text)
            yield result(self.bundle[case], answer)

    def close(self) -> None:
        """Let the runner end."""
        if self.runner is not None:
            self.runner.stop()

    def _running(self) -> Runner:
        """The runner, started again where it was stopped; DeviceLost where it does not come up."""
        assert self.runner is not None
        for attempt in range(STARTS):
            if not self.runner.stopped:
                return self.runner
            try:
                self.runner = Runner(self.command)
            except Ended as error:
                if attempt == STARTS - 1:
                    raise DeviceLost("", f"{self.device}: {error}") from None
        return self.runner


def result(case: CaseView, answer: Answer) -> Result:
    """An answer in opgen's words: bits of BFLOAT16 become numbers."""
    head = answer.head
    outputs = {name: _typed(array, case.args.get(name)) for name, array in answer.arrays.items()}
    return Result(
        case.id,
        cast(Code | None, head.get("status")),  # what it is, the results file checks
        cast(Code | None, head.get("run_status")),
        cast(float | None, head.get("time")),
        str(head.get("error", "")),
        outputs,
        cast(Mapping[str, int], head.get("unwritten", {})),
    )


def _typed(array: Array, desc: object) -> Array:
    """An output whose bits stand for numbers of a dtype that numpy does not have, as these."""
    if isinstance(desc, TensorDesc) and array.dtype == np.uint16 and desc.dtype == "BFLOAT16":
        return array.view(DTYPES[desc.dtype].numpy)
    return array


def _storable(array: Array) -> Array:
    """A buffer in a dtype that numpy itself has."""
    return array.view(np.uint16) if array.dtype == DTYPES["BFLOAT16"].numpy else array


class Runner:
    """The process of a command, and what it says. Ended where it does not come up in time."""

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
        self._requests: SimpleQueue[CaseView | None] = SimpleQueue()
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
        self.in_flight, self.facts = window, facts

    def ask(self, case: CaseView) -> None:
        """Send a case, soon."""
        self._requests.put(case)

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
            while (case := self._requests.get()) is not None:
                storage = {name: _storable(array) for name, array in case.storage.items()}
                head = {"case": case.id, "call": case.call, "outputs": list(case.golden)}
                write_frame(pipe, head, storage)

    def _receive(self) -> None:
        with _open(self.process.stdout) as pipe:
            try:
                while (frame := read_frame(pipe)) is not None:
                    self._answers.put(Answer(*frame))
                end = "the runner ended"
            except Exception as error:  # noqa: BLE001  a runner may write anything
                end = f"the runner wrote what is no frame: {error}"
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
