"""How many faults of tiling a suite sees: whether some element of a case passes its bound. The
largest cases are asked first, and a fault that was seen is not looked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from opgen.bundle.read.reader import Bundle
from opgen.comparison.elements import errors
from opgen.quality.mutant_results import MutantResult, MutationScore
from opgen.quality.mutants.bundle_cases import cases_by_page, device_batches
from opgen.quality.mutants.device import answer
from opgen.quality.mutants.mutant import NOTHING, DeviceBatch, Mutant


def tiling_score(
    bundle: Bundle,
    mutants: Sequence[Mutant],
    progress: Callable[[int], None] = lambda cases: None,
    correct: Mutant = NOTHING,
) -> MutationScore:
    """The results of faults at the seams of blocks (:mod:`opgen.quality.mutants.tiling`) on every
    operator of a bundle. ``progress`` is told of cases that are done; ``correct`` is what the
    control device does wrong.
    """
    results: dict[str, list[MutantResult]] = {}
    control: list[str] = []
    for cases in cases_by_page(bundle):
        op = cases.spec.op
        if not cases.spec.status_only and op not in results:
            results[op] = [MutantResult(mutant.name, mutant.wrong, op) for mutant in mutants]
        for work in sorted(device_batches(bundle, cases), key=lambda work: -work.batch.elements):
            left = [pair for pair in zip(mutants, results[op], strict=True) if not pair[1].cases]
            if left:
                control += failing(bundle, work, correct)
            for mutant, result in left:
                result.cases += islice(failing(bundle, work, mutant), 1)
        progress(len(cases))
    found = [result for some in results.values() for result in some]
    for result in found:
        result.why = "" if result.cases else "no element of any case passes its bound"
    return MutationScore(found, control)


def failing(bundle: Bundle, work: DeviceBatch, mutant: Mutant) -> Iterator[str]:
    """The cases of a batch in which a device passes the bound of some element."""
    outputs = answer(work, mutant)
    for i, name in enumerate(work.batch.ids):
        case = bundle[name]
        for output in case.golden:
            if errors(outputs[output][i], case.golden[output], case.bound[output]).wrong.any():
                yield name
                break
