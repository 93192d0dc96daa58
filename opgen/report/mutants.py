"""The mutation score for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from opgen.quality.mutant_results import CAUGHT, MISSED, OUTCOMES, MutantResult, MutationScore
from opgen.report.terminal import table

SHOWN = 2
"""Cases that are named of those that catch a mutant."""


def as_tables(score: MutationScore, rules: bool = False) -> Iterator[Table]:
    """Per operator what is caught and by what; then what is not, and why; then the wrong checkers
    of single rules that are missed, with ``rules`` all that are not caught.

    Cases are named without their operator.
    """
    for op in score.operators:
        rows = [
            (
                result.mutant,
                result.wrong,
                len(result.catching),
                [case.removeprefix(f"{op}-") for case in result.catching[:SHOWN]],
            )
            for result in score.of(op)
            if result.outcome == CAUGHT
        ]
        heads = ("mutant", "what is wrong", "caught by", "")
        yield table(*heads, rows=rows, title=op, right=("caught by",))
    missed = table("operator", "mutant", "outcome", "why", title="not caught")
    for result in score.missed():
        missed.add_row(result.op, result.mutant, result.outcome, result.why)
    if missed.row_count:
        yield missed
    title = f"rules whose wrong checker is {'not caught' if rules else 'missed'}"
    single = table("operator", "wrong checker", "outcome", "why", title=title)
    for result in score.results:
        for checker in result.members:
            if checker.outcome == MISSED or rules and checker.outcome != CAUGHT:
                single.add_row(checker.op, checker.mutant, checker.outcome, checker.why)
    if single.row_count:
        yield single
    if not score.results:
        return
    totals = table(
        "operator",
        "mutants",
        *OUTCOMES,
        "score",
        title="score",
        right=("mutants", *OUTCOMES, "score"),
    )
    for op in score.operators:
        outcomes = [result.outcome for result in score.of(op)]
        caught_, of = score.counts(op)
        totals.add_row(
            op,
            str(len(outcomes)),
            *(str(outcomes.count(outcome)) for outcome in OUTCOMES),
            _percent(caught_, of),
        )
    yield totals


def _percent(caught: int, of: int) -> str:
    return f"{100 * caught / of:.1f} %" if of else ""


def summary(score: MutationScore, plan: str) -> str:
    """The score in a line or two."""
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
    return "\n".join(lines)


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
        "differs": result.differs,
        "why": result.why,
    }
    if result.members:
        plain["rules"] = [_result(checker) for checker in result.members]
    return plain
