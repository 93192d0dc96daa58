"""A device behind a command: ``--backend 'cmd:ssh board python3 runner.py my_device'``.

The command starts a runner, which reads cases from its standard input and writes answers to its
standard output (BACKENDS.md). A runner that ends or hangs is started again.
"""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, cast

import numpy as np

from opgen.bundle.read.case import CaseView
from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.calls.vocabulary import vocabulary
from opgen.devices import DeviceError, DeviceLost, HeldBackend, Raised
from opgen.devices.aclnn import product_of
from opgen.devices.numeric_calls import NumericCalls
from opgen.devices.runner_process import Answer, Ended, Request, Runner
from opgen.model import CRASH, NOT_RUN, Code, TensorDesc
from opgen.numerics.arrays import Array
from opgen.numerics.formats import DTYPES

STARTS = 3
"""Attempts to start a runner again, before the device counts as lost."""
ENDS = 3
"""Times that a runner ends at a case before the case is what ends it: connections break, too."""


class Calls(Protocol):
    """How cases are put to a runner."""

    def skips(self, case: CaseView) -> str:
        """Why the runner cannot run a case; empty where it can."""

    def requests(self, case: CaseView, data: bool) -> list[Request]:
        """What is asked of a case; without ``data``, the first phase alone."""

    def result(self, case: CaseView, answers: Sequence[Answer]) -> Result:
        """What the answers to these requests say."""


class JsonCalls:
    """Cases as call files and harnesses know them."""

    def skips(self, case: CaseView) -> str:
        """Nothing: the runner says so itself."""
        return ""

    def requests(self, case: CaseView, data: bool) -> list[Request]:
        """The call, and the buffers behind its inputs."""
        storage = {name: _storable(array) for name, array in case.storage.items() if data}
        return [({"case": case.id, "call": case.call, "outputs": list(case.golden)}, storage)]

    def result(self, case: CaseView, answers: Sequence[Answer]) -> Result:
        """One answer in opgen's words: bits of BFLOAT16 become numbers."""
        ((head, arrays),) = answers
        kind = Raised if head.get("raised") else Result
        return kind(
            case.id,
            cast(Code | None, head.get("status")),  # what it is, the results file checks
            cast(Code | None, head.get("run_status")),
            cast(float | None, head.get("time")),
            str(head.get("error", "")),
            {
                name: _typed(array, case.args.get(name)) if array.dtype == np.uint16 else array
                for name, array in arrays.items()
            },
            cast(Mapping[str, int], head.get("unwritten", {})),
        )


def _typed(array: Array, desc: object) -> Array:
    """An output whose bits stand for numbers of a dtype that numpy does not have, as these."""
    if isinstance(desc, TensorDesc) and desc.dtype == "BFLOAT16":
        return array.view(DTYPES[desc.dtype].numpy)
    return array


def _storable(array: Array) -> Array:
    """A buffer in a dtype that numpy itself has."""
    return array.view(np.uint16) if array.dtype == DTYPES["BFLOAT16"].numpy else array


class CommandBackend(HeldBackend):
    """What a runner behind a command answers; ``device`` is the command, as a shell would split it.

    A case at which the runner ends is asked again, alone: if the runner ends :data:`ENDS` times, it
    was the case, and its status is ``crash``.
    """

    name = "cmd"
    runner: Runner | None = None

    def open(self, bundle: Bundle, cases: Sequence[str]) -> Mapping[str, object]:
        """Start the runner, unless there is one; DeviceError where it does not come up."""
        try:
            self.command = shlex.split(self.device)
        except ValueError as error:
            raise DeviceError("--backend cmd", f"cannot split the command: {error}") from None
        if not self.command:
            text = "needs a command, as in --backend 'cmd:ssh board python3 runner.py my_device'"
            raise DeviceError("--backend cmd", text)
        self.bundle = bundle
        try:
            if self.runner is None or self.runner.stopped:
                self.runner = Runner(self.command)
        except Ended as error:
            raise DeviceError("--backend cmd", f"{self.device}: {error}") from None
        facts, numeric = self.runner.facts, self.runner.numeric
        soc = str(facts.get("soc", ""))
        if numeric or vocabulary().product_of(soc):
            self.product = product_of(soc, self.product)
        self.calls: Calls = NumericCalls() if numeric else JsonCalls()
        return {"runner": facts}

    def answers(self, cases: Sequence[str]) -> Iterator[Result]:
        """One answer to each case, in their order, but for those that are asked again; those that
        the runner cannot run come first. A runner that nobody waits for any more is stopped.
        """
        waiting, asked = deque[str](), deque[tuple[CaseView, int]]()
        for name in cases:
            if why := self.calls.skips(self.bundle[name]):
                yield Result(name, NOT_RUN, error=why)
            else:
                waiting.append(name)
        ends = 0  # of the runner, at the case that is next
        try:
            while waiting or asked:
                runner = self._running()
                try:
                    window = 1 if ends else runner.in_flight
                    few = len(asked) <= window // 2  # the rest is sent at once, which costs less
                    while waiting and few and (not asked or runner.takes(window - len(asked))):
                        case = self.bundle[waiting.popleft()]
                        requests = self.calls.requests(case, not self.status_only)
                        runner.ask(requests)
                        asked.append((case, len(requests)))
                    answers = [runner.answer(self.timeout) for _ in range(asked[0][1])]
                except Ended as end:
                    runner.stop()
                    waiting.extendleft(case.id for case, _ in reversed(asked))
                    asked.clear()
                    ends += 1
                    if end.word == CRASH and ends < ENDS:
                        continue
                    ends = 0
                    yield Result(waiting.popleft(), end.word, error=str(end))
                    continue
                (case, _), ends = asked.popleft(), 0
                for answer in answers:
                    if answer.head.get("case") != case.id:
                        runner.stop()
                        raise DeviceLost(
                            f"at {case.id}",
                            f"the runner answered {answer.head.get('case')!r};"
                            " it takes cases in order",
                        )
                yield self.calls.result(case, answers)
        finally:
            if asked and self.runner is not None:
                self.runner.stop()

    def close(self) -> None:
        """Let the runner end, unless it is held."""
        if self.runner is not None and not self.is_held:
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
