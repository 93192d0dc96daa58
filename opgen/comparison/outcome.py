"""What a comparison found: a verdict per case, totals, and what is worth knowing about the
whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isinf
from typing import Any

from opgen.comparison.statuses import BAD, LENIENT, STRICT, VERDICTS
from opgen.model import Verdict

NAMED = 3
"""Rules that a group of lenient cases names, the most frequent first."""


@dataclass(frozen=True)
class SharedTrait:
    """Something that failures of one kind (``what``) share: said in ``text``, and how many failures
    and passes have it.

    No text where nearly all fail, or where they share nothing that passes have not.
    """

    what: str
    text: str
    failures: int
    of_failures: int
    passes: int
    of_passes: int

    def __str__(self) -> str:
        if not self.text:
            return f"{self.what}: {self.of_failures} of {self.of_failures + self.of_passes} fail"
        verb = "have" if self.of_failures > 1 else "has"
        return (
            f"{self.what}: {self.failures} of {self.of_failures} failures {verb} {self.text}"
            f" ({self.passes} of {self.of_passes} passes)"
        )


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
        far = (
            ""
            if self.ratio is None or isinf(self.ratio)
            else f", error/bound up to {self.ratio:.3g}"
        )
        return (
            f"{self.cause}: {self.cases} case{'s' if self.cases != 1 else ''}{far}, such as"
            f" {self.example}"
        )


def grouped(verdicts: Sequence[Verdict]) -> list[Group]:
    """The cases that do not simply pass, by what is behind them, the largest groups of a verdict
    first.

    Failures are grouped by a cause that more than one has, lenient cases by operator.
    """
    found: dict[tuple[str, str], list[Verdict]] = {}
    for one in verdicts:
        if one.verdict in STRICT:
            for cause in (
                [str(one.metrics.get("op"))]
                if one.verdict == LENIENT
                else one.metrics.get("causes", ())
            ):
                found.setdefault((one.verdict, cause), []).append(one)
    groups = [
        _group(verdict, cause, mine)
        for (verdict, cause), mine in found.items()
        if verdict not in BAD or len(mine) > 1
    ]
    return sorted(groups, key=lambda one: (VERDICTS.index(one.verdict), -one.cases))


def _group(verdict: str, cause: str, mine: Sequence[Verdict]) -> Group:
    if verdict == LENIENT:
        rules = [
            rule
            for rule, _ in Counter(
                rule for one in mine for rule in one.metrics.get("rules", ())
            ).most_common()
        ]
        cause = f"{cause.removeprefix('aclnn')} accepts calls that the page forbids"
        cause += (
            f" ({', '.join(rules[:NAMED])}{', ...' if len(rules) > NAMED else ''})" if rules else ""
        )
    ratios = [
        max((out["ratio"] for out in one.metrics.get("outputs", {}).values()), default=0.0)
        for one in mine
    ]
    worst = ratios.index(max(ratios)) if max(ratios) > 1 else 0
    return Group(
        verdict, cause, len(mine), mine[worst].case, ratios[worst] if ratios[worst] > 1 else None
    )


@dataclass
class Report:
    """Verdicts in the order of the bundle; iterate over it, or ask for one by its case's id.

    ``criteria``: criterion -> (outputs that meet it, outputs that it was asked of).
    ``distribution``: dtype -> counts of elements by error / bound. ``waived``: case -> reason.
    ``origin`` says which files and device this is about.
    """

    verdicts: Sequence[Verdict]
    origin: Mapping[str, Any] = field(default_factory=dict)
    criteria: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    distribution: Mapping[str, Sequence[int]] = field(default_factory=dict)
    findings: Sequence[SharedTrait] = ()
    notes: list[str] = field(default_factory=list)
    waived: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_case = {verdict.case: verdict for verdict in self.verdicts}

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, case: str) -> Verdict:
        return self._by_case[case]

    def __contains__(self, case: object) -> bool:
        return case in self._by_case

    def get(self, case: str) -> Verdict | None:
        """The verdict of a case; None where the report does not have it."""
        return self._by_case.get(case)

    @property
    def groups(self) -> list[Group]:
        """What is behind the cases that do not simply pass."""
        return grouped(self.verdicts)

    @property
    def totals(self) -> dict[str, int]:
        """Verdict -> cases, in the order of :data:`VERDICTS`; none that does not occur."""
        counted = Counter(verdict.verdict for verdict in self.verdicts)
        return {name: counted[name] for name in VERDICTS if counted[name]}

    def bad(self, strict: bool = False) -> list[Verdict]:
        """The verdicts that make a comparison fail: those that nobody has waived."""
        return [verdict for verdict in self.verdicts if self.fails(verdict, strict)]

    def fails(self, verdict: Verdict, strict: bool = False) -> bool:
        """Whether a verdict makes a comparison fail: it is a bad one that nobody has waived."""
        return verdict.verdict in (STRICT if strict else BAD) and verdict.case not in self.waived

    def by(self, *facts: str) -> dict[tuple[str, ...], Counter[str]]:
        """Values of some facts of the cases (op, product, dtype, ...) -> verdict -> cases."""
        found: dict[tuple[str, ...], Counter[str]] = {}
        for verdict in self.verdicts:
            key = tuple(str(verdict.metrics.get(fact, "")) for fact in facts)
            found.setdefault(key, Counter())[verdict.verdict] += 1
        return dict(sorted(found.items()))
