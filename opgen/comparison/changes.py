"""Two reports against each other: what newly fails, what is fixed, what came and went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from opgen.comparison.diff_report import DiffReport
from opgen.model import Verdict


@dataclass(frozen=True)
class VerdictChange:
    """One case whose verdict is another, waived or no longer, or whose error grew; None where a
    report does not have the case.
    """

    case: str
    before: Verdict | None
    after: Verdict | None
    waived: tuple[bool, bool] = (False, False)

    @property
    def verdicts(self) -> tuple[str | None, str | None]:
        """The two in words; None where a report does not have the case."""
        before, after = (
            None if verdict is None else verdict.verdict + ", waived" * waived
            for verdict, waived in zip((self.before, self.after), self.waived, strict=True)
        )
        return before, after

    def __str__(self) -> str:
        before, after = (verdict or "not there" for verdict in self.verdicts)
        if before == after and self.after is not None:
            old, new = map(_ratio, (self.before, self.after))
            return f"{self.case}: {self.after.verdict}, error/bound {old:.3g} -> {new:.3g}"
        detail = f": {self.after.detail}" if self.after is not None and self.after.detail else ""
        return f"{self.case}: {before} -> {after}{detail}"


@dataclass(frozen=True)
class ReportChanges:
    """The changes by kind. ``waived``: still fails, and a waiver accepts it now; ``other``: another
    verdict, neither worse nor better; ``worse_ratio``: passed, but the error grew.

    ``same_bundle`` is false where the reports are about different bundles, so that a case may not
    be the same case.
    """

    failing: Sequence[VerdictChange]
    fixed: Sequence[VerdictChange]
    waived: Sequence[VerdictChange]
    other: Sequence[VerdictChange]
    added: Sequence[VerdictChange]
    removed: Sequence[VerdictChange]
    worse_ratio: Sequence[VerdictChange]
    same_bundle: bool
    unchanged: int


GROWN = 4.0
"""How many times larger the largest error / bound must be to be mentioned although the case still
passes."""


def _ratio(verdict: Verdict | None) -> float:
    """The largest error / bound of a case that passes."""
    return float(verdict.metrics.get("ratio", 0.0)) if verdict is not None else 0.0


def compare_reports(before: DiffReport, after: DiffReport, strict: bool = False) -> ReportChanges:
    """What changed from one report to the next; a waived verdict counts as one that does not
    fail.

    >>> before, after = (DiffReport([Verdict("a", word)]) for word in ("passed", "failed"))
    >>> print(*compare_reports(before, after).failing)
    a: passed -> failed
    """
    changes: dict[str, list[VerdictChange]] = defaultdict(list)
    for case in dict.fromkeys(verdict.case for verdict in chain(before, after)):
        old, new = before.get(case), after.get(case)
        failed = old is not None and before.fails(old, strict)
        fails = new is not None and after.fails(new, strict)
        if new is None:
            kind = "removed"
        elif fails and not failed:
            kind = "failing"
        elif old is None:
            kind = "added"
        elif failed and not fails:
            kind = "waived" if case in after.waived else "fixed"
        elif old.verdict != new.verdict:
            kind = "other"
        elif not fails and 0 < GROWN * _ratio(old) < _ratio(new):
            kind = "worse_ratio"
        else:
            kind = "unchanged"
        waived = case in before.waived, case in after.waived
        changes[kind].append(VerdictChange(case, old, new, waived))
    return ReportChanges(
        changes["failing"],
        changes["fixed"],
        changes["waived"],
        changes["other"],
        changes["added"],
        changes["removed"],
        changes["worse_ratio"],
        same_bundle=before.origin.get("bundle_digest") == after.origin.get("bundle_digest"),
        unchanged=len(changes["unchanged"]) + len(changes["worse_ratio"]),
    )
