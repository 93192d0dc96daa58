"""What is worth knowing about a whole comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from opgen.comparison import signed_sums, unwritten_elements
from opgen.comparison.alignment import AlignedResults
from opgen.comparison.comparing import Comparison
from opgen.comparison.diff_report import REASONS, reason
from opgen.comparison.mode_used import mode_notes
from opgen.comparison.statuses import BAD, INCONCLUSIVE
from opgen.model import Code, Verdict


def notes(given: Comparison, verdicts: Mapping[int, Verdict]) -> Iterator[str]:
    """Everything, a sentence each; ``verdicts`` is by row of the bundle."""
    yield from _of_files(given)
    reasons = Counter(reason(v) for v in verdicts.values() if v.verdict == INCONCLUSIVE)
    for why, count in reasons.most_common(REASONS):
        yield f"{count} {INCONCLUSIVE}: {why}"
    yield from _named(
        "invalid cases that passed though their nearest valid call was not run",
        [given.bundle.ids[row] for row in given.rows if given.statuses[row].alone],
    )
    masked = [given.bundle.ids[row] for row in given.rows if row in given.answers.masked]
    yield from _named("cases that wrote to an output that is masked out", masked)
    yield from _of_elements(given)
    bad = [row for row, verdict in verdicts.items() if verdict.verdict in BAD]
    yield from mode_notes(given, sorted(verdicts.keys() - {*bad}))
    left = sum(i not in given.metrics for row in bad for i in given.of_case.get(row, []))
    if left:
        yield (
            f"{left} of {left + len(given.asked)} outputs were not compared: they are missing,"
            " in another form, or of calls that failed"
        )
    unsteady = [
        verdict.case
        for verdict in verdicts.values()
        if any(output["differs"] for output in verdict.metrics.get("outputs", {}).values())
    ]
    yield from _named("cases that gave different bits in a repeated run", unsteady)
    for repeat in given.repeats:
        yield from _not_repeated(given, repeat)


def _of_files(given: Comparison) -> Iterator[str]:
    header = given.answers.file.header
    if note := header.get("note"):
        yield str(note)
    if not header.get("device"):
        yield "the results name no device"
    if shard := given.bundle.header.get("shard"):
        yield f"the bundle is shard {shard} of a suite"
    if len(given.rows) < len(given.bundle):
        yield f"{len(given.rows)} of {len(given.bundle)} cases of the bundle were asked for"


def _of_elements(given: Comparison) -> Iterator[str]:
    """What was not looked at, or admits what it should not."""
    if note := unwritten_elements.note(given.unwritten[given.asked].tolist()):
        yield note
    sampled = given.asked[given.goldens.places[given.asked] >= 0]
    if len(sampled):
        tensors = given.bundle.tables["tensors"]
        described = tensors["shape"][given.goldens.described[sampled]].tolist()
        whole = sum(prod(given.bundle.sequence(shape) or ()) for shape in described)
        seen = int(tensors["elements"][given.goldens.golden[sampled]].sum())
        yield f"of {len(sampled)} outputs, {seen} of {whole} elements were looked at"
        bounds = [signed_sums.expected(given.bundle, given.goldens, i)[1] for i in sampled.tolist()]
        least = np.array([bound.min(initial=np.inf) for bound in bounds])
        rest = 2 * least[(least > 0) & np.isfinite(least)]
        told = f"signed sums show any single wrong element in {int((least == 0).sum())} of them"
        if len(rest):
            told += f", and in {len(rest)} one that is wrong by more than {rest.min():.3g}"
            told += f" to {rest.max():.3g}"
        yield told
    elements, unbounded, nan = (
        int(given.table[name][given.asked].sum())
        for name in ("elements", "unbounded", "nan_for_inf")
    )
    if unbounded:
        yield f"{unbounded} of {elements} elements have no finite bound, so that any value passes"
    if nan:
        yield f"{nan} elements pass although they are NaN and their goldens are Inf"


def _not_repeated(given: Comparison, repeat: AlignedResults) -> Iterator[str]:
    """The cases of which a repeated run says nothing, because it ended otherwise."""
    answered = [row for row in given.rows if given.answers.row[row] >= 0]
    left = {row: why for row in answered if (why := _why_not_repeated(given, repeat, row))}
    reasons = ", ".join(f"{count} {why}" for why, count in Counter(left.values()).most_common())
    ids = [given.bundle.ids[row] for row in left]
    yield from _named(f"{repeat.file.path} does not repeat all cases ({reasons})", ids)


def _why_not_repeated(given: Comparison, repeat: AlignedResults, row: int) -> str:
    if repeat.row[row] < 0:
        return "without an answer"
    if _statuses(repeat, row) != _statuses(given.answers, row):
        return "with another status"
    goldens = given.of_case[row] if row in given.compared else []
    return "without an output" if (repeat.output[goldens] < 0).any() else ""


def _statuses(answers: AlignedResults, row: int) -> tuple[Code | None, Code | None]:
    return answers.status(row), answers.status(row, run=True)


def _named(what: str, cases: list[str]) -> Iterator[str]:
    """Some cases, counted; none are not worth a sentence."""
    if cases:
        yield f"{what}: {len(cases)}, such as {cases[0]}"
