"""The mutation score for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opgen.quality.mutant_results import CAUGHT, MISSED, OUTCOMES, MutantResult, MutationScore
from opgen.report.layout import TextTable


def as_tables(
    score: MutationScore, rules: bool = False, caught: bool = True
) -> Iterator[TextTable]:
    """Per operator what is ``caught`` and by how many cases, if asked, and where any case stops a
    mutant, how many; then what is not, and why; then the wrong checkers of single rules that are
    missed, with ``rules`` all that are not caught.
    """
    for op in score.operators if caught else ():
        caught_by = [
            (result.mutant, result.wrong, len(result.catching), len(result.stopped) or "")
            for result in score.of(op)
            if result.outcome == CAUGHT
        ]
        stopped = any(row[3] for row in caught_by)
        heads = ("mutant", "what is wrong", "caught by", "stopped by")[: 3 + stopped]
        yield TextTable(
            *heads, rows=(row[: len(heads)] for row in caught_by), title=op, right=heads[2:]
        )
    yield from _outcomes("mutant", "not caught", score.missed())
    checkers = (checker for result in score.results for checker in result.members)
    yield from _outcomes(
        "wrong checker",
        f"rules whose wrong checker is {'not caught' if rules else 'missed'}",
        (c for c in checkers if c.outcome == MISSED or rules and c.outcome != CAUGHT),
    )
    if not score.results:
        return
    columns = ("mutants", *OUTCOMES, "score")
    totals: list[tuple[object, ...]] = []
    for op in score.operators:
        outcomes = [result.outcome for result in score.of(op)]
        percent = _percent(*score.counts(op))
        totals.append((op, len(outcomes), *map(outcomes.count, OUTCOMES), percent))
    yield TextTable("operator", *columns, rows=totals, title="score", right=columns)


def _outcomes(what: str, title: str, results: Iterable[MutantResult]) -> Iterator[TextTable]:
    """A table of mutants with the reasons of their outcomes, if there are any."""
    rows = [(result.op, result.mutant, result.outcome, result.why) for result in results]
    if rows:
        yield TextTable("operator", what, "outcome", "why", rows=rows, title=title)


def _percent(caught: int, of: int) -> str:
    return f"{100 * caught / of:.1f} %" if of else ""


def summary(score: MutationScore, plan: str) -> list[str]:
    """The score in a sentence or two."""
    caught, of = score.counts()
    rules = score.rules()
    said = (
        f"{caught} of {of} mutants caught, {_percent(caught, of)}"
        if of
        else "none of these mutants can be caught here"
    )
    lines = [f"{plan}: {said}"]
    if total := sum(rules.values()):
        each = ", ".join(f"{count} {outcome}" for outcome, count in rules.items() if count)
        lines.append(f"{total} wrong checkers of single rules: {each}")
    if score.control:
        lines.append(
            f"void: a correct device fails {len(score.control)} cases, {score.control[0]} among"
            " them"
        )
    return lines


def as_data(score: MutationScore) -> dict[str, object]:
    """Everything, as plain data."""
    caught, of = score.counts()
    return {
        "score": round(score.percent, 2),
        "caught": caught,
        "of": of,
        "rules": score.rules(),
        "control": score.control,
        "operators": {
            op: dict(zip(("caught", "of"), score.counts(op), strict=True)) for op in score.operators
        },
        "mutants": [_result(result) for result in score.results],
    }


def _result(result: MutantResult) -> dict[str, object]:
    plain: dict[str, object] = {
        "mutant": result.mutant,
        "wrong": result.wrong,
        "op": result.op,
        "outcome": result.outcome,
        "cases": result.catching,
        "noticed": result.noticed,
        "stopped": result.stopped,
        "differs": result.differs,
        "why": result.why,
    }
    if result.members:
        plain["rules"] = [_result(checker) for checker in result.members]
    return plain
