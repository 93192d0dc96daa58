"""A case of a bundle in sentences: what it is, what it asks, and what it differs in from the valid
call that it was made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from opgen.report.terminal import argument_text, visible
from opgen.report.words import words

if TYPE_CHECKING:
    from opgen.bundle.read.case import CaseView
    from opgen.bundle.read.reader import Bundle


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
        yield f"  It has data of the recipe {case.recipe or 'given'}, and goldens of {outputs}."
    if case.inconclusive:
        yield f"  A pass proves nothing: {case.inconclusive}."
