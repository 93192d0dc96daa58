"""What became of mutants: caught, noticed, stopped, masked, impossible or missed, by operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from opgen.comparison import statuses
from opgen.model import Verdict
from opgen.quality.mutants import modes
from opgen.quality.mutants.bundle_cases import PageCases
from opgen.suite.enumeration.reasons import never

CAUGHT, NOTICED, STOPPED = "caught", "noticed", "stopped"
MASKED, IMPOSSIBLE, MISSED = "masked", "impossible", "missed"
OUTCOMES = (CAUGHT, NOTICED, STOPPED, MASKED, IMPOSSIBLE, MISSED)
"""``stopped``: its kernel cannot compute with its wrong numbers, which says nothing of data;
``masked``: wherever a wrong checker holds its rule wrong, another rule is broken too and gives
an admissible answer; ``impossible``: the page itself lets no call break the rule, or a library ends
the host process on every call that does."""


@dataclass
class MutantResult:
    """What became of one mutant of one operator, or of one rule's wrong checker.

    ``cases`` catch it, ``noticed`` only notice it; ``differing`` are the cases whose answer is not
    that of a correct device, ``stopped`` those in which its kernel raises an error: they catch
    nothing. ``why`` says why nothing catches it, and ``excuse`` which outcome that
    is; ``members`` are the wrong checkers of a family. What the page does not decide can only be
    noticed.
    """

    mutant: str
    wrong: str
    op: str
    cases: list[str] = field(default_factory=list)
    noticed: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    stopped: dict[str, str] = field(default_factory=dict)
    why: str = ""
    excuse: str = ""
    members: list[MutantResult] = field(default_factory=list)
    decided: bool = True

    @property
    def outcome(self) -> str:
        """One of :data:`OUTCOMES`; a family is missed if a member that the page decides is, and
        else what most can be said.
        """
        if self.members:
            if any(member.outcome == MISSED and member.decided for member in self.members):
                return MISSED
            return next(iter(self.counts()))
        unseen = STOPPED if self.stopped else self.excuse or MISSED
        return CAUGHT if self.cases else NOTICED if self.noticed else unseen

    @property
    def catching(self) -> list[str]:
        """The cases that catch it, or one of its members, once each."""
        of_members = [case for member in self.members for case in member.cases]
        return list(dict.fromkeys(of_members or self.cases))

    @property
    def differs(self) -> int:
        """Answers that are not those of a correct device, of its members together."""
        return sum(member.differs for member in self.members) or len(self.differing)

    def counts(self) -> dict[str, int]:
        """Outcome -> members, without those that do not occur."""
        return {outcome: n for outcome, n in _count(self.members).items() if n}

    def note(self, verdict: Verdict) -> None:
        """Take down whether a case catches or notices it."""
        if verdict.case in self.stopped:
            return
        if verdict.verdict in statuses.BAD:
            self.cases.append(verdict.case)
        elif verdict.verdict in statuses.STRICT:
            self.noticed.append(verdict.case)


def _count(results: Sequence[MutantResult]) -> dict[str, int]:
    outcomes = [result.outcome for result in results]
    return {outcome: outcomes.count(outcome) for outcome in OUTCOMES}


@dataclass
class MutationScore:
    """Results by operator and mutant; ``control`` are cases that fail a correct device, and must be
    none.
    """

    results: list[MutantResult]
    control: list[str]

    def of(self, op: str) -> list[MutantResult]:
        """The mutants of one operator."""
        return [result for result in self.results if result.op == op]

    @property
    def operators(self) -> list[str]:
        return list(dict.fromkeys(result.op for result in self.results))

    def counts(self, op: str = "") -> tuple[int, int]:
        """(caught, caught or missed): what can only be noticed, is masked or impossible counts in
        neither.
        """
        count = _count(self.of(op) if op else self.results)
        return count[CAUGHT], count[CAUGHT] + count[MISSED]

    def rules(self) -> dict[str, int]:
        """Outcome -> wrong checkers, one per rule and fault."""
        return _count([member for result in self.results for member in result.members])

    @property
    def percent(self) -> float:
        caught, of = self.counts()
        return 100.0 * caught / of if of else 0.0

    def missed(self) -> list[MutantResult]:
        """What is not caught, noticed ones included."""
        return [result for result in self.results if result.outcome != CAUGHT]


def by_mode(whole: MutantResult, cases: PageCases, wrong: set[int]) -> Iterator[MutantResult]:
    """A result for each row of a page's table of modes, from that of all of them; in the ``wrong``
    rows the mutant does what the page does not allow.
    """
    for mode in (*range(len(cases.spec.modes)), -1):
        rows = cases.modes == mode
        ids = {cases.ids[row] for row in np.flatnonzero(rows)}
        result = MutantResult(
            f"{whole.mutant}/{modes.row_name(cases.spec, mode)}",
            whole.wrong,
            whole.op,
            cases=[case for case in whole.cases if case in ids],
            noticed=[case for case in whole.noticed if case in ids],
            differing=[case for case in whole.differing if case in ids],
            stopped={case: error for case, error in whole.stopped.items() if case in ids},
        )
        if mode not in wrong:
            result.why, result.excuse = _why_no_case(cases, mode, rows)
        elif not result.cases:
            result.why = why(result)
        yield result


def _why_no_case(cases: PageCases, mode: int, rows: np.ndarray) -> tuple[str, str]:
    """(why no case of one mode can tell, the outcome that this is)."""
    spec = cases.spec
    if (rows & cases.judged.valid).any():
        return "the page allows it, or no value changes", IMPOSSIBLE
    if mode >= 0 and all(never(spec.modes[mode].when, spec, product) for product in spec.judges):
        return "it speaks of products that another page judges", IMPOSSIBLE
    if rows.any():
        return "every call of this mode breaks a rule", MASKED
    return "no case has this mode", ""


def why(result: MutantResult) -> str:
    """Why no case catches a mutant, or how many of its members have which outcome."""
    if result.members:
        return ", ".join(f"{count} {outcome}" for outcome, count in result.counts().items())
    if result.noticed:
        return f"{len(result.noticed)} cases differ, and fail under --strict alone"
    if result.stopped:
        return f"{len(result.stopped)} cases stop its kernel: {next(iter(result.stopped.values()))}"
    if result.differing:
        return f"{len(result.differing)} cases differ, all within their bounds"
    return "no case of the suite has another answer"
