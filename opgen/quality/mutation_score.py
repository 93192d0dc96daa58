"""The mutation score: which case of a bundle catches which deliberately wrong device.

Every wrong kernel answers the whole bundle, and :func:`opgen.diff` judges its answers; a wrong
checker's statuses are judged by the same function that judges a device's. Caught is what has a
verdict that makes ``opgen diff`` exit 1. A device that is only lenient, or wrong as the published
library is, is noticed and not caught.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.writer import Results
from opgen.comparison import statuses
from opgen.comparison.status_verdicts import admissible
from opgen.comparison.verdicts import diff
from opgen.model import CRASH, Verdict
from opgen.quality.mutant_results import (
    CAUGHT,
    IMPOSSIBLE,
    MASKED,
    NOTICED,
    MutantResult,
    MutationScore,
    by_mode,
    why,
)
from opgen.quality.mutants import ALL, modes
from opgen.quality.mutants.bundle_cases import PageCases, cases_by_page, device_batches
from opgen.quality.mutants.checkers import Family, WrongChecker
from opgen.quality.mutants.device import answer, answer_or_crash
from opgen.quality.mutants.equivalent import between, broken_besides, fatal, stricter, vacuous
from opgen.quality.mutants.mutant import NOTHING, DeviceBatch, Mutant, Outputs
from opgen.suite.enumeration.reasons import unreachable


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
    wrong: dict[tuple[str, str], set[int]] = defaultdict(set)
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
                        wrong[mutant.name, cases.spec.name].add(work.mode)
                        result.differing += _add_differing(work, mutant, right, file, result)
                    progress(len(work.batch.ids))
                for case, status in unanswered.items():
                    control.add(case, status)
                progress(len(unanswered))
        for mutant, file in zip(mutants, files, strict=True):
            of_mutant = [result for result in results.values() if result.mutant == mutant.name]
            by_case = {case: result for result in of_mutant for case in result.differing}
            for verdict in (
                diff(bundle, file.path, cases=list(by_case), most_explained=0) if by_case else ()
            ):
                by_case[verdict.case].note(verdict)
        failing = [verdict.case for verdict in diff(bundle, control.path).bad()]
    for mutant in mutants:
        for cases in pages if mutant.compute else ():
            whole = results.get((mutant.name, cases.spec.op))
            if whole is not None:
                whole.members += by_mode(whole, cases, wrong[mutant.name, cases.spec.name])
    for result in results.values():
        result.why = "" if result.outcome == CAUGHT else why(result)
    return list(results.values()), failing


def _add_differing(
    work: DeviceBatch, mutant: Mutant, right: Outputs, file: Results, result: MutantResult
) -> Iterator[str]:
    """Add a mutant's answers to a batch where they are not those of a correct device; the cases,
    and in the result those that stop it.
    """
    wrong, stop = answer_or_crash(work, mutant)
    result.stopped |= dict.fromkeys(work.batch.ids, stop) if stop else {}
    for i, case in enumerate(work.batch.ids):
        outputs = None if wrong is None else _of_case(wrong, i)
        if outputs is None:
            file.add(case, 0, None, CRASH)
            yield case
        elif any(array.tobytes() != right[name][i].tobytes() for name, array in outputs.items()):
            file.add(case, 0, outputs, 0)
            yield case


def _of_case(outputs: Outputs, i: int) -> Outputs:
    return {name: array[i] for name, array in outputs.items()}


# checkers -----------------------------------------------------------------------------------------
def _family(bundle: Bundle, pages: Sequence[PageCases], family: Family) -> list[MutantResult]:
    by_op: dict[str, MutantResult] = {}
    for cases in pages:
        op = cases.spec.op
        for checker in family.members(cases.spec):
            whole = by_op.setdefault(op, MutantResult(family.name, family.wrong, op))
            whole.members.append(_checker(bundle, cases, checker))
    for whole in by_op.values():
        whole.why = why(whole)
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
    if proof := unreachable(checker.rule, spec) or vacuous(cases, checker) or between(checker):
        return proof, IMPOSSIBLE
    if other := stricter(spec, checker):
        return f"{other} forbids as much", IMPOSSIBLE
    if other := broken_besides(spec, checker):
        return f"every call in which it is wrong breaks {other} too", MASKED
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
    view, besides = judged.view, judged.broken.sum(axis=0) > judged.broken[place]
    spoken = np.array(
        [guard.unconditional.applies(view, len(cases)) for guard in checker.rule.guards]
    ).any(axis=0)
    if spoken.any() and besides[spoken].all():
        return "every call that has what it compares breaks another rule", MASKED
    if judged.broken[place].any():
        return "no case that it judges wrong", ""
    proof = fatal(cases, checker)
    return proof or "no case breaks the rule", IMPOSSIBLE if proof else ""
