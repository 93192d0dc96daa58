"""Groups of cases of one verdict that have a cause in common."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf

from opgen.comparison.statuses import BAD, LENIENT, STRICT, VERDICTS
from opgen.model import Verdict

NAMED = 3
"""Rules that a group of lenient cases names, the most frequent first."""


@dataclass(frozen=True)
class Group:
    """Cases of one verdict that have a cause in common.

    ``example`` is the case that is furthest beyond its bound, ``ratio`` its error / bound; the
    first case, and None, where none is.
    """

    verdict: str
    cause: str
    cases: int
    example: str
    ratio: float | None

    def __str__(self) -> str:
        told = self.ratio is not None and not isinf(self.ratio)
        far = f", error/bound up to {self.ratio:.3g}" if told else ""
        cases = f"{self.cases} case{'s' if self.cases != 1 else ''}"
        return f"{self.cause}: {cases}{far}, such as {self.example}"


def largest_ratio(verdict: Verdict) -> float | None:
    """The largest error / bound of a case's outputs; None where none was compared."""
    outputs = verdict.metrics.get("outputs", {})
    return max((output["ratio"] for output in outputs.values()), default=None)


def grouped(verdicts: Sequence[Verdict]) -> list[Group]:
    """The cases that do not simply pass, by what is behind them, the largest groups of a verdict
    first.

    Failures are grouped by a cause that more than one has, lenient cases by operator.
    """
    members: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.verdict == LENIENT:
            members[LENIENT, str(verdict.metrics.get("op"))].append(verdict)
        elif verdict.verdict in STRICT:
            for cause in verdict.metrics.get("causes", ()):
                members[verdict.verdict, cause].append(verdict)
    groups = [
        _group(kind, cause, group)
        for (kind, cause), group in members.items()
        if kind not in BAD or len(group) > 1
    ]
    return sorted(groups, key=lambda group: (VERDICTS.index(group.verdict), -group.cases))


def _group(kind: str, cause: str, group: Sequence[Verdict]) -> Group:
    if kind == LENIENT:
        counts = Counter(rule for verdict in group for rule in verdict.metrics.get("rules", ()))
        rules = [rule for rule, _ in counts.most_common()]
        named = ", ".join(rules[:NAMED]) + (", ..." if len(rules) > NAMED else "")
        cause = f"{cause.removeprefix('aclnn')} accepts calls that the page forbids"
        cause += f" ({named})" if rules else ""
    worst = max(group, key=lambda verdict: largest_ratio(verdict) or 0.0)
    ratio = largest_ratio(worst) or 0.0
    if ratio <= 1:
        return Group(kind, cause, len(group), group[0].case, None)
    return Group(kind, cause, len(group), worst.case, ratio)
