"""Two reports against each other: what newly fails, what is fixed, what came and went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opgen.comparison.outcome import Report
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
        pairs = zip((self.before, self.after), self.waived, strict=True)
        was, now = (
            None if one is None else f"{one.verdict}, waived" if waived else one.verdict
            for one, waived in pairs
        )
        return was, now

    def __str__(self) -> str:
        if (
            self.before is not None
            and self.after is not None
            and self.verdicts[0] == self.verdicts[1]
        ):
            was, now = (float(one.metrics.get("ratio", 0.0)) for one in (self.before, self.after))
            return f"{self.case}: {self.after.verdict}, error/bound {was:.3g} -> {now:.3g}"
        old, new = (one or "not there" for one in self.verdicts)
        detail = self.after.detail if self.after is not None else ""
        return f"{self.case}: {old} -> {new}" + (f": {detail}" if detail else "")


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


def compare_reports(before: Report, after: Report, strict: bool = False) -> ReportChanges:
    """What changed from one report to the next; a waived verdict counts as one that does not
    fail.
    """
    lists: dict[str, list[VerdictChange]] = {
        name: []
        for name in ("failing", "fixed", "waived", "other", "added", "removed", "worse_ratio")
    }
    unchanged = 0
    for case in dict.fromkeys([*(one.case for one in before), *(one.case for one in after)]):
        old, new = (report.get(case) for report in (before, after))
        change = VerdictChange(case, old, new, (case in before.waived, case in after.waived))
        was, now = (
            one is not None and report.fails(one, strict)
            for report, one in ((before, old), (after, new))
        )
        if new is None:
            lists["removed"].append(change)
        elif now and not was:
            lists["failing"].append(change)
        elif old is None:
            lists["added"].append(change)
        elif was and not now:
            lists["waived" if case in after.waived else "fixed"].append(change)
        elif old.verdict != new.verdict:
            lists["other"].append(change)
        else:
            unchanged += 1
            if not now and 0 < GROWN * float(old.metrics.get("ratio", 0.0)) < float(
                new.metrics.get("ratio", 0.0)
            ):
                lists["worse_ratio"].append(change)
    same = before.origin.get("bundle_digest") == after.origin.get("bundle_digest")
    return ReportChanges(**lists, same_bundle=same, unchanged=unchanged)
