"""A case of a bundle in sentences: what it is, what it asks, and what it differs in from the valid
call that it was made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from opgen.comparison.elements import errors
from opgen.comparison.explain import told_apart
from opgen.comparison.statuses import MISSING
from opgen.report.terminal import argument_text, visible
from opgen.report.words import words

SHOWN = 5
"""Wrong elements that are shown of an output, the worst first."""

if TYPE_CHECKING:
    from opgen.bundle.read.case import CaseView
    from opgen.bundle.read.reader import Bundle
    from opgen.bundle.results.reader import ResultsFile
    from opgen.model import Verdict


def differences(bundle: Bundle, case: CaseView) -> dict[str, object]:
    """Argument -> its value in the nearest valid case, where that is another than in this one.

    Empty where there is no such case in the bundle.
    """
    if case.nearest_valid not in bundle:
        return {}
    near = bundle[case.nearest_valid].call["args"]
    return {name: near[name] for name, value in case.call["args"].items() if near[name] != value}


def sentences(bundle: Bundle, case: CaseView, formulas: Mapping[str, str]) -> Iterator[str]:
    """What a case is, asks and differs in, a line each; ``formulas``: rule -> what it requires."""
    yield from map(visible, _sentences(bundle, case, formulas))


def _sentences(bundle: Bundle, case: CaseView, formulas: Mapping[str, str]) -> Iterator[str]:
    yield case.id
    yield f"  A call of {case.op} on {case.product}: {case.intent or 'given in a call file'}."
    for broken in case.expect.breaks:
        place = f"clause {broken.clause}, " if broken.clause else ""
        line = f"line {broken.at}" if broken.at else "no line of the page"
        yield f"  It breaks {broken.rule} ({place}{line}): {formulas.get(broken.rule, '')}"
        yield f"    with {broken.found}."
    codes = " or ".join(map(str, case.expect.codes))
    yield f"  The page admits the status {codes} ({case.expect.bucket}):"
    yield f"    {words()[case.expect.bucket].meaning}"
    if case.library is not None:
        answers = " or ".join(map(str, case.library.codes))
        yield f"  The library, release {case.library.release}, answers {answers}."
    for name, near in differences(bundle, case).items():
        yield f"  {name} is {argument_text(case.call['args'][name])}"
        yield f"    and in the nearest valid call {argument_text(near)}."
    if case.golden:
        outputs = ", ".join(case.golden)
        yield (
            f"  It has data of the recipe {case.recipe or 'given'}, rounded to {case.compute}"
            f" before the computation, and goldens of {outputs}."
        )
    if case.inconclusive:
        yield f"  A pass proves nothing: {case.inconclusive}."


def answer(case: CaseView, results: ResultsFile, verdict: Verdict) -> Iterator[str]:
    """How a device's answer to a case is judged, what it is, and the elements that are furthest
    beyond their bounds, a line each.
    """
    yield visible(f"  Verdict: {verdict.verdict}{': ' if verdict.detail else ''}{verdict.detail}.")
    if verdict.verdict == MISSING:
        return
    given = results[case.id]
    second = "" if given.run_status is None else f", and in the second phase {given.run_status}"
    yield visible(f"  The device answered {given.status}{second}.")
    for name in [name for name in case.golden if name in given.outputs]:
        golden, bound, got = case.golden[name], case.bound[name].reshape(-1), given.outputs[name]
        places = case.places[name] if name in case.places else np.arange(got.size)
        if golden.size == places.size and places.max(initial=-1) < got.size:  # else see the verdict
            told, wanted = got.reshape(-1)[places], golden.reshape(-1)
            _, ratio, wrong = errors(told, wanted, bound)
            order = np.argsort(np.where(wrong, -ratio, 1.0), kind="stable")[: wrong.sum()]
            for i in order[:SHOWN]:
                number, expected = told_apart(told[i], wanted[i])
                place = np.array(np.unravel_index(places[i], got.shape)).tolist()
                yield f"    {name}{place}: {number}, expected {expected} ± {abs(bound[i]):.3g}"
