"""Two reports against each other: what newly fails, what is fixed, what came and went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from opgen.comparison.diff_report import DiffReport
from opgen.comparison.statuses import INCONCLUSIVE, KNOWN, PASSED, SKIPPED
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


FAILING, WEAKER, REMOVED = "newly failing", "no longer judged", "no longer there"
FIXED, WAIVED, OTHER = "fixed", "newly waived", "other verdict"
ADDED, GREW, UNCHANGED = "new case", "error grew", "unchanged"
KINDS = (FAILING, WEAKER, FIXED, WAIVED, OTHER, ADDED, REMOVED, GREW)
"""In the order in which people want to read them."""
GROWN = 4.0
"""How many times larger the largest error / bound must be to be mentioned although the case still
passes."""
_JUDGED, _UNJUDGED = (PASSED, KNOWN), (SKIPPED, INCONCLUSIVE)


@dataclass(frozen=True)
class ReportChanges:
    """The changes by kind, and how many cases did not change.

    ``same_bundle`` is false where the reports are about different bundles, so that a case may not
    be the same case.
    """

    kinds: Mapping[str, Sequence[VerdictChange]]
    same_bundle: bool
    unchanged: int

    def worse(self, allow_removed: bool = False) -> bool:
        """Whether a case newly fails, or one that passed is no longer judged or, unless that is
        allowed, no longer there.
        """
        lost = (change.before for change in self.kinds[REMOVED])
        removed = any(old is not None and old.verdict in _JUDGED for old in lost)
        return bool(self.kinds[FAILING] or self.kinds[WEAKER] or (removed and not allow_removed))


def compare_reports(before: DiffReport, after: DiffReport, strict: bool = False) -> ReportChanges:
    """What changed from one report to the next; a waived verdict counts as one that does not
    fail.

    >>> before, after = (DiffReport([Verdict("a", word)]) for word in ("passed", "failed"))
    >>> print(*compare_reports(before, after).kinds["newly failing"])
    a: passed -> failed
    """
    kinds: dict[str, list[VerdictChange]] = {kind: [] for kind in (*KINDS, UNCHANGED)}
    for case in dict.fromkeys(verdict.case for verdict in chain(before, after)):
        old, new = before.get(case), after.get(case)
        waived = case in before.waived, case in after.waived
        failed = old is not None and before.fails(old, strict)
        fails = new is not None and after.fails(new, strict)
        change = VerdictChange(case, old, new, waived)
        kinds[_kind(change, failed, fails)].append(change)
    return ReportChanges(
        {kind: kinds[kind] for kind in KINDS},
        same_bundle=before.origin.get("bundle_digest") == after.origin.get("bundle_digest"),
        unchanged=len(kinds[UNCHANGED]) + len(kinds[GREW]),
    )


def _kind(change: VerdictChange, failed: bool, fails: bool) -> str:
    old, new = change.before, change.after
    if new is None:
        return REMOVED
    if fails and not failed:
        return FAILING
    if old is None:
        return ADDED
    if failed and not fails:
        return WAIVED if change.waived[1] else FIXED
    if old.verdict in _JUDGED and new.verdict in _UNJUDGED:
        return WEAKER
    if old.verdict != new.verdict:
        return OTHER
    return GREW if not fails and 0 < GROWN * _ratio(old) < _ratio(new) else UNCHANGED


def _ratio(verdict: Verdict | None) -> float:
    """The largest error / bound of a case that passes."""
    return float(verdict.metrics.get("ratio", 0.0)) if verdict is not None else 0.0
