"""What a comparison says: a verdict per case, totals, and what is worth knowing about the whole."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opgen.comparison.groups import Group, grouped
from opgen.comparison.statuses import (
    BAD,
    KNOWN,
    MISSING,
    PASSED,
    SKIPPED,
    STRICT,
    UNJUDGED,
    UNPROVED,
    VERDICTS,
)
from opgen.model import Verdict

REASONS = 5
"""Reasons that a report names why cases were not run, or prove nothing, the most frequent first."""


@dataclass(frozen=True)
class SharedTrait:
    """Something that failures of one kind (``what``) share: said in ``text``, and how many failures
    and passes have it. A kind is the status of an operator, or one of its outputs.

    No text where nearly all fail, or where they share nothing that passes have not.

    >>> print(SharedTrait("GroupNorm gradInput", "N odd", 9, 10, 1, 40))
    GroupNorm gradInput: N odd (9 of 10 wrong answers, 1 of 40 right answers compared)
    """

    what: str
    text: str
    failures: int
    of_failures: int
    passes: int
    of_passes: int

    def __str__(self) -> str:
        if not self.text:
            return (
                f"{self.what}: {self.of_failures} of {self.of_failures + self.of_passes} answers"
                " are wrong"
            )
        return (
            f"{self.what}: {self.text} ({self.failures} of {self.of_failures} wrong answers,"
            f" {self.passes} of {self.of_passes} right answers compared)"
        )


def reason(verdict: Verdict) -> str:
    """Why a case proves nothing, in words that other cases may share."""
    return ", ".join(verdict.metrics.get("causes", ())) or verdict.detail or "no reason given"


def proves(verdict: Verdict) -> bool:
    """Whether a case passed on evidence, or is a known deviation."""
    return verdict.verdict == KNOWN or bool(verdict.metrics.get("evidence"))


def judged(verdict: Verdict) -> bool | None:
    """Whether the outputs of a case were compared, or it is a known deviation; None where it has no
    data, or was rightly refused.
    """
    outputs = bool(verdict.metrics.get("outputs"))
    if not verdict.metrics.get("dtype") or (verdict.verdict == PASSED and not outputs):
        return None
    return verdict.verdict == KNOWN or outputs


def why_unproved(proved: Iterable[bool], numbers: Iterable[bool | None]) -> str:
    """Why some cases are not green though none is bad, from what each proves and whether its
    numbers were judged; empty where they are.
    """
    if not any(proved):
        return UNPROVED
    told = set(numbers)
    return UNJUDGED if False in told and True not in told else ""


@dataclass
class DiffReport:
    """The verdicts on a device, in the order of the bundle. Iterate over them, or ask for one by
    the id of its case.

    * ``criteria``: criterion -> (outputs that meet it, outputs that were measured by it)
    * ``distribution``: dtype -> numbers of elements by error / bound
    * ``waived``: case -> reason
    * ``origin``: the files and the device that the report is about
    * ``allow_empty``: whether a report without cases is green
    * ``fail_on_skip``, ``min_passed``: whether a report with skipped cases is green, and one with
      fewer cases that passed

    >>> report = DiffReport([Verdict("a", "passed"), Verdict("b", "failed", "status 0")])
    >>> report["b"].detail, report.totals, len(report.bad())
    ('status 0', {'failed': 1, 'passed': 1}, 1)
    """

    verdicts: Sequence[Verdict]
    origin: Mapping[str, Any] = field(default_factory=dict)
    criteria: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    distribution: Mapping[str, Sequence[int]] = field(default_factory=dict)
    shared: Sequence[SharedTrait] = ()
    notes: list[str] = field(default_factory=list)
    waived: dict[str, str] = field(default_factory=dict)
    allow_empty: bool = False
    fail_on_skip: bool = False
    min_passed: int = 0

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
        counts = Counter(verdict.verdict for verdict in self.verdicts)
        return {name: counts[name] for name in VERDICTS if counts[name]}

    @property
    def not_run(self) -> list[str]:
        """How many cases were not run, and why: a sentence for each reason."""
        why = Counter(reason(verdict) for verdict in self if verdict.verdict in (SKIPPED, MISSING))
        told = why.most_common(REASONS)
        if others := why.total() - sum(count for _, count in told):
            told.append(("other reasons", others))
        return [f"{count} of {len(self)} cases: {said}" for said, count in told]

    @property
    def unproved(self) -> str:
        """Why nothing is proved, by statuses or by numbers, or less than was demanded; empty where
        enough is. Waivers are no evidence.
        """
        skipped, passed = (self.totals.get(verdict, 0) for verdict in ("skipped", "passed"))
        if self.fail_on_skip and skipped:
            return f"{skipped} of {len(self)} cases were skipped"
        if passed < self.min_passed:
            return f"{passed} of {len(self)} cases passed, and {self.min_passed} must"
        if self.allow_empty and not self.verdicts:
            return ""
        return why_unproved(map(proves, self.verdicts), map(judged, self.verdicts))

    def green(self, strict: bool = False) -> bool:
        """The one rule by which every form of a report is green: nothing is bad, and something is
        proved.
        """
        return not (self.unproved or self.bad(strict))

    def bad(self, strict: bool = False) -> list[Verdict]:
        """The verdicts that make a comparison fail: those that nobody has waived."""
        return [verdict for verdict in self.verdicts if self.fails(verdict, strict)]

    def fails(self, verdict: Verdict, strict: bool = False) -> bool:
        """Whether a verdict makes a comparison fail: it is a bad one that nobody has waived."""
        bad = verdict.verdict in (STRICT if strict else BAD)
        bad |= strict and "masked" in verdict.metrics
        return bad and verdict.case not in self.waived

    def by(self, *facts: str) -> dict[tuple[str, ...], Counter[str]]:
        """Values of some facts of the cases (op, product, dtype, ...) -> verdict -> cases."""
        counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for verdict in self.verdicts:
            values = tuple(str(verdict.metrics.get(fact, "")) for fact in facts)
            counts[values][verdict.verdict] += 1
        return dict(sorted(counts.items()))
