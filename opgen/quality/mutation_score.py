"""The mutation score: which case of a bundle catches which deliberately wrong device.

Every wrong kernel answers the whole bundle, and :func:`opgen.diff` judges its answers; a wrong
checker's statuses are judged by the same function that judges a device's. Caught is what has a
verdict that makes ``opgen diff`` exit 1. A device that is only lenient, or wrong as the published
library is, is noticed and not caught.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.writer import Results
from opgen.comparison import statuses
from opgen.comparison.first_phase import admissible
from opgen.comparison.verdicts import diff
from opgen.model import CRASH, Verdict
from opgen.quality.mutants import ALL, modes
from opgen.quality.mutants.bundle_cases import PageCases, cases_by_page, device_batches
from opgen.quality.mutants.checkers import Family, WrongChecker, stricter, vacuous
from opgen.quality.mutants.device import answer
from opgen.quality.mutants.mutant import NOTHING, DeviceBatch, Mutant, Outputs
from opgen.suite.enumeration.reasons import never, unreachable

CAUGHT, NOTICED, MASKED, IMPOSSIBLE, MISSED = "caught", "noticed", "masked", "impossible", "missed"
OUTCOMES = (CAUGHT, NOTICED, MASKED, IMPOSSIBLE, MISSED)
"""``masked``: wherever a wrong checker holds its rule wrong, another rule is broken too and gives
an admissible answer; ``impossible``: the page itself lets no call break the rule."""


@dataclass
class MutantResult:
    """What became of one mutant of one operator, or of one rule's wrong checker.

    ``cases`` catch it, ``noticed`` only notice it; ``differing`` are the cases whose answer is not
    that of a correct device. ``why`` says why nothing catches it, and ``excuse`` which outcome that
    is; ``members`` are the wrong checkers of a family. What the page does not decide can only be
    noticed.
    """

    mutant: str
    wrong: str
    op: str
    cases: list[str] = field(default_factory=list)
    noticed: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
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
        return CAUGHT if self.cases else NOTICED if self.noticed else self.excuse or MISSED

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


def score(
    bundle: Bundle,
    chosen: Sequence[Mutant | Family],
    progress: Callable[[int], None] = lambda cases: None,
    correct: Mutant = NOTHING,
) -> MutationScore:
    """The results of some mutants on a bundle: those that apply to one of its operators.
    ``progress`` is told of cases that are done; ``correct`` is what the control device does wrong.
    """
    pages = cases_by_page(bundle)
    kernels = [mutant for mutant in chosen if isinstance(mutant, Mutant)]
    results, control = _kernels(bundle, pages, kernels, progress, correct)
    for family in chosen:
        if isinstance(family, Family):
            results += _family(bundle, pages, family)
    order = {mutant.name: i for i, mutant in enumerate(ALL)}
    results.sort(key=lambda result: (result.op, order.get(result.mutant, -1)))
    return MutationScore(results, control)


# kernels ------------------------------------------------------------------------------------------
def _kernels(
    bundle: Bundle,
    pages: Sequence[PageCases],
    mutants: Sequence[Mutant],
    progress: Callable[[int], None],
    correct: Mutant,
) -> tuple[list[MutantResult], list[str]]:
    """One pass over the batches, all mutants per batch; a mutant's file holds the answers that a
    correct device does not give.
    """
    results = {
        (mutant.name, cases.spec.op): MutantResult(mutant.name, mutant.wrong, cases.spec.op)
        for mutant in mutants
        for cases in pages
        if mutant.applies(cases.spec)
    }
    answered: set[tuple[str, str, int]] = set()
    with TemporaryDirectory(prefix="opgen-mutants-") as folder:
        with ExitStack() as stack:
            control, *files = [
                stack.enter_context(Results.create(Path(folder) / f"{name}.h5", bundle))
                for name in ("control", *(f"{mutant.name}.mutant" for mutant in mutants))
            ]
            for cases in pages:
                mine = [
                    (mutant, file, results[mutant.name, cases.spec.op])
                    for mutant, file in zip(mutants, files, strict=True)
                    if mutant.applies(cases.spec)
                ]
                unanswered = dict(cases.statuses)
                for work in device_batches(bundle, cases):
                    right = answer(work, correct)
                    for i, case in enumerate(work.batch.ids):
                        control.add(case, unanswered.pop(case), _of_case(right, i), 0)
                    for mutant, file, result in mine:
                        if mutant.compute and modes.allowed(work, mutant.compute):
                            continue
                        answered.add((mutant.name, cases.spec.name, work.mode))
                        result.differing += _add_differing(work, mutant, right, file)
                    progress(len(work.batch.ids))
                for case, status in unanswered.items():
                    control.add(case, status)
                progress(len(unanswered))
        for mutant, file in zip(mutants, files, strict=True):
            of_mutant = [result for result in results.values() if result.mutant == mutant.name]
            by_case = {case: result for result in of_mutant for case in result.differing}
            for verdict in diff(bundle, file.path, cases=list(by_case)) if by_case else ():
                by_case[verdict.case].note(verdict)
        failing = [verdict.case for verdict in diff(bundle, control.path).bad()]
    for mutant in mutants:
        for cases in pages if mutant.compute else ():
            if cases.spec.modes:
                whole = results[mutant.name, cases.spec.op]
                own = {
                    mode
                    for name, page, mode in answered
                    if (name, page) == (mutant.name, cases.spec.name)
                }
                whole.members += _by_mode(whole, cases, own)
    for result in results.values():
        result.why = "" if result.cases else _why(result)
    return list(results.values()), failing


def _add_differing(
    work: DeviceBatch, mutant: Mutant, right: Outputs, file: Results
) -> Iterator[str]:
    """Add a mutant's answers to a batch where they are not those of a correct device; the cases."""
    crashes = mutant.crashes(work)
    wrong = right if crashes else answer(work, mutant)
    for i, case in enumerate(work.batch.ids):
        outputs = _of_case(wrong, i)
        if crashes:
            file.add(case, 0, None, CRASH)
            yield case
        elif any(array.tobytes() != right[name][i].tobytes() for name, array in outputs.items()):
            file.add(case, 0, outputs, 0)
            yield case


def _of_case(outputs: Outputs, i: int) -> Outputs:
    return {name: array[i] for name, array in outputs.items()}


def _by_mode(whole: MutantResult, cases: PageCases, answered: set[int]) -> Iterator[MutantResult]:
    """A result for each row of a page's table of modes; ``answered`` are those in which the mutant
    does what the page does not allow.
    """
    spec = cases.spec
    for mode in (*range(len(spec.modes)), -1):
        of_row = cases.modes == mode
        ids = {cases.ids[row] for row in np.flatnonzero(of_row)}
        result = MutantResult(
            f"{whole.mutant}/{modes.row_name(spec, mode)}",
            whole.wrong,
            whole.op,
            *(
                [case for case in some if case in ids]
                for some in (whole.cases, whole.noticed, whole.differing)
            ),
        )
        if mode in answered:
            result.why = "" if result.cases else _why(result)
        elif (of_row & cases.judged.valid).any():
            result.why, result.excuse = "the page allows it, or no value changes", IMPOSSIBLE
        elif mode >= 0 and all(
            never(spec.modes[mode].when, spec, product) for product in spec.judges
        ):
            result.why, result.excuse = "it speaks of products that another page judges", IMPOSSIBLE
        elif of_row.any():
            result.why, result.excuse = "every call of this mode breaks a rule", MASKED
        else:
            result.why = "no case has this mode"
        yield result


def _why(result: MutantResult) -> str:
    if result.members:
        return ", ".join(f"{count} {outcome}" for outcome, count in result.counts().items())
    if result.noticed:
        return f"{len(result.noticed)} cases differ, and fail under --strict alone"
    if result.differing:
        return f"{len(result.differing)} cases differ, all within their bounds"
    return "no case of the suite has another answer"


# checkers -----------------------------------------------------------------------------------------
def _family(bundle: Bundle, pages: Sequence[PageCases], family: Family) -> list[MutantResult]:
    by_op: dict[str, MutantResult] = {}
    for cases in pages:
        op = cases.spec.op
        for checker in family.members(cases.spec):
            whole = by_op.setdefault(op, MutantResult(family.name, family.wrong, op))
            whole.members.append(_checker(bundle, cases, checker))
    for whole in by_op.values():
        whole.why = _why(whole)
    return list(by_op.values())


def _checker(bundle: Bundle, cases: PageCases, checker: WrongChecker) -> MutantResult:
    result = MutantResult(
        checker.name, checker.family.wrong, cases.spec.op, decided=checker.decided
    )
    for case, status in checker.answers(cases).items():
        verdict, _ = _verdict(admissible(bundle, bundle.rows[case]), status)
        result.note(Verdict(case, verdict))
        result.differing.append(case)
    if not result.cases:
        result.why, result.excuse = _why_not(cases, checker, result)
    return result


_verdict = cache(statuses.of_first_phase)


def _why_not(cases: PageCases, checker: WrongChecker, result: MutantResult) -> tuple[str, str]:
    """(why no case catches a wrong checker, the outcome that this is)."""
    if result.noticed:
        count = len(result.noticed)
        return (
            f"accepted in {count} cases: lenient, as the page names no code, or known of the"
            " library"
        ), NOTICED
    spec, judged = cases.spec, cases.judged
    place = spec.rules.index(checker.rule)
    if proof := unreachable(checker.rule, spec) or vacuous(cases, checker):
        return proof, IMPOSSIBLE
    if other := stricter(spec, checker):
        return f"{other} forbids as much", IMPOSSIBLE
    for asked in (cases, *map(cases.on, spec.judges)):
        broken = asked.judged.broken
        right, wrong = broken[place], checker.broken(asked)
        rows = np.flatnonzero(right if checker.family.code else right != wrong).tolist()
        if rows:
            rules = [np.flatnonzero(broken[:, row]) for row in rows]
            others = [sorted(spec.rules[i].id for i in mine if i != place) for mine in rules]
            fewest = min(others, key=len)
            if fewest:
                return f"wrong in {len(rows)} cases, which also break {', '.join(fewest)}", MASKED
            call = asked.table.call(rows[0])
            return f"{asked.ids[rows[0]]} would tell on {call.product}", ""
    if judged.broken[place].any():
        return "no case that it judges wrong", ""
    return "no case breaks the rule", ""
