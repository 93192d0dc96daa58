"""Looking out for a device that is lost while it is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import Result
from opgen.bundle.results.writer import Results
from opgen.devices import DeviceLost, Raised
from opgen.devices.plugins import CodeError
from opgen.model import UNUSABLE, Code, Problem, of_a_check

LOST = 5
"""Calls in a row that get codes of the runtime, or are unusable, after which a device is asked
whether it still accepts a valid call. Each time that it does, twice as many may follow before it is
asked again, up to eight times :data:`LOST`: a runner may have to start anew to be asked."""


class Lookout:
    """Looks out for a device that is lost: whatever it is asked, it returns a code of the runtime,
    or is unusable, which tells nothing of the calls.
    """

    def __init__(self, bundle: Bundle, results: Results, cases: Sequence[str]) -> None:
        self.bundle, self.results, self.cases = bundle, results, cases
        self.accepted, self.most = "", LOST
        self.faults: list[str] = []

    def see(self, answer: Result, alone: Callable[[str], Result | None]) -> None:
        """Take notice of one of the answers, which was written down; DeviceLost where it is one too
        many. ``alone`` asks for the answer to a case while no other is asked.
        """
        if not of_runtime(answer):
            self.faults, self.most = [], LOST
            self.accepted = self.accepted if decisive_status(answer) else answer.id
            return
        self.faults.append(answer.id)
        if len(self.faults) < self.most:
            return
        good = self.accepted or self._valid()
        try:
            asked = alone(good) if good else answer
            if isinstance(asked, Raised):
                also = f", also at {good}, a valid call" if good else ""
                text = f"the code of the device fails{also}: {asked.error}"
                raise CodeError([Problem("--backend", None, "", text)])
        except CodeError:
            self._withdraw(self.faults)
            raise
        if asked is not None and isinstance(asked.status, int) and not of_runtime(asked):
            self.faults, self.most = [], min(2 * self.most, 8 * LOST)
            return
        self._withdraw(self.faults[1:])
        last = answer.error if decisive_status(answer) == UNUSABLE else decisive_status(answer)
        codes = (
            f"{self.most} calls in a row got codes of the runtime or were unusable, the last {last}"
        )
        ask = f"; {good}, a valid call, is not accepted either" if good else ""
        raise DeviceLost(f"at {self.faults[0]}", f"{codes}{ask}")

    def _withdraw(self, cases: Sequence[str]) -> None:
        for case in cases:
            self.results.withdraw(case, "the device was lost before this call")

    def _valid(self) -> str:
        """A valid call for the product of those that failed, of another operator if there is one;
        empty where there is none.
        """
        failed, table = self.bundle[self.faults[-1]], self.bundle.cases
        valid = (table["bucket"] == "valid") & (table["product"] == failed.product)
        left = set(self.cases) - set(self.faults)
        others = table["id"][valid & (table["op"] != failed.op)].tolist()
        return next((case for case in (*others, *table["id"][valid].tolist()) if case in left), "")


def of_runtime(answer: Result) -> bool:
    """Whether an answer is a code of the runtime, or unusable."""
    code = decisive_status(answer)
    return code == UNUSABLE or (isinstance(code, int) and code != 0 and not of_a_check(code))


def decisive_status(answer: Result) -> Code | None:
    """The status that counts: that of the run, where the first phase accepts the call."""
    return answer.status or answer.run_status
