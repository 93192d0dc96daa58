"""What a comparison found: a verdict per case, totals, and what is worth knowing about the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opgen.model import Verdict
from opgen.verdict.statuses import BAD, STRICT, VERDICTS


@dataclass(frozen=True)
class Finding:
    """Something that failures of one kind (``what``) share: said in ``text``, and how many failures and passes have it.

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
        return f"{self.what}: {self.failures} of {self.of_failures} failures {verb} {self.text} ({self.passes} of {self.of_passes} passes)"


@dataclass
class Report:
    """Verdicts in the order of the bundle; iterate over it, or ask for one by its case's id.

    ``criteria``: criterion -> (outputs that meet it, outputs that it was asked of). ``distribution``: dtype -> counts of elements
    by error / bound. ``waived``: case -> reason. ``origin`` says which files and device this is about.
    """

    verdicts: Sequence[Verdict]
    origin: Mapping[str, Any] = field(default_factory=dict)
    criteria: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    distribution: Mapping[str, Sequence[int]] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
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
    def totals(self) -> dict[str, int]:
        """Verdict -> cases, in the order of :data:`VERDICTS`; none that does not occur."""
        counted = Counter(verdict.verdict for verdict in self.verdicts)
        return {name: counted[name] for name in VERDICTS if counted[name]}

    def bad(self, strict: bool = False) -> list[Verdict]:
        """The verdicts that make a comparison fail: those that nobody has waived."""
        asked = STRICT if strict else BAD
        return [verdict for verdict in self.verdicts if verdict.verdict in asked and verdict.case not in self.waived]

    def by(self, *facts: str) -> dict[tuple[str, ...], Counter[str]]:
        """Values of some facts of the cases (op, product, dtype, ...) -> verdict -> cases."""
        found: dict[tuple[str, ...], Counter[str]] = {}
        for verdict in self.verdicts:
            key = tuple(str(verdict.metrics.get(fact, "")) for fact in facts)
            found.setdefault(key, Counter())[verdict.verdict] += 1
        return dict(sorted(found.items()))
