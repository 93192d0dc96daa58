"""Goldens against a device's answers: a verdict per case, and every criterion at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import ResultsFile
from opgen.calls.ids import select_ids
from opgen.comparison import explain, unusual, unwritten_elements
from opgen.comparison.alignment import AlignedResults, align, goldens_of
from opgen.comparison.comparing import Comparison
from opgen.comparison.deviations import deviations
from opgen.comparison.diff_report import DiffReport
from opgen.comparison.evidence import why_inconclusive
from opgen.comparison.notes import notes
from opgen.comparison.statuses import (
    BAD,
    CRASHED,
    FAILED,
    INCONCLUSIVE,
    KNOWN,
    PASSED,
    STRICT,
    UNUSUAL,
)
from opgen.comparison.traits import shared_traits
from opgen.model import TRUTHS, Truth, Verdict
from opgen.oracle.errata import Errata
from opgen.oracle.errata_folder import errata_of

_log = logging.getLogger(__name__)
EXPLAINED = 2000
"""Outputs beyond their bound that are looked at element by element for a sentence; the rest get the
numbers alone."""
File = str | Path
Opened = TypeVar("Opened", Bundle, ResultsFile)
WRITTEN = ("handwritten", "given")
"""Kinds of cases whose intent is not what a plan covers, but what somebody says of the call."""
Facts: TypeAlias = dict[str, Any]
"""What a verdict says for programs, as JSON has it."""


def diff(
    bundle: File | Bundle,
    results: File | ResultsFile,
    *,
    against: File | ResultsFile | None = None,
    again: File | ResultsFile | Sequence[File | ResultsFile] = (),
    truth: Truth = "both",
    cases: str | Iterable[str] = (),
    library: File | Mapping[str, Errata] = "",
    most_explained: int = EXPLAINED,
) -> DiffReport:
    """Judge the answers of a device to a bundle, as ``opgen diff`` does.

    * ``against``: results of another device, for the double benchmark.
    * ``again``: results of repeated runs, one or several, to compare bit by bit.
    * ``truth``: whose statuses count: ``page``, ``library`` or ``both``. With ``both``, the page
      counts, and an answer that only the library explains is a *known deviation*.
    * ``cases``: ids or patterns, one or several, to judge only some cases.
    * ``library``: a release, a folder of errata, or errata by operator: opgen judges the stored
      calls anew by these. By default, it takes what the bundle says of the library.
    * ``most_explained``: the largest number of failed outputs that are explained in detail.

    Raises BundleError for files that are damaged or do not belong together, FileError for a pattern
    that matches nothing, and ValueError for another ``truth``.
    """
    if truth not in TRUTHS:
        raise ValueError(f"truth: {truth!r} is none of {', '.join(TRUTHS)}")
    patterns = (cases,) if isinstance(cases, str) else cases
    repeated = (again,) if isinstance(again, (str, Path, ResultsFile)) else again
    with ExitStack() as stack:

        def opened(file: File | Opened, kind: Callable[[File], Opened]) -> Opened:
            return stack.enter_context(kind(file)) if isinstance(file, (str, Path)) else file

        def aligned(file: File | ResultsFile) -> AlignedResults:
            return align(whole, goldens, opened(file, ResultsFile))

        whole = opened(bundle, Bundle)
        goldens = goldens_of(whole)
        answers = aligned(results)
        other = None if against is None else aligned(against)
        repeats = [aligned(file) for file in repeated]
        rows = select_ids(whole.ids, patterns, str(whole.path))
        source = (
            library if isinstance(library, Mapping) else errata_of(library) if library else None
        )
        given = Comparison(whole, goldens, answers, truth, rows, other, repeats, source)
        return _Judge(given, most_explained).report()


class _Judge:
    """The verdicts of one comparison. ``i`` is a row of the goldens everywhere."""

    def __init__(self, given: Comparison, most_explained: int) -> None:
        self.given = given
        self.explained, self.most_explained = 0, most_explained

    def report(self) -> DiffReport:
        given = self.given
        verdicts = {row: self._verdict(row) for row in given.rows}
        verdicts |= self._deviations(verdicts)
        verdicts |= self._unusual(verdicts)
        asked = given.asked
        report = DiffReport(
            [self._with_intent(row, verdict) for row, verdict in verdicts.items()],
            given.origin,
            {name: (int(met[asked].sum()), len(asked)) for name, met in given.met.items()},
            {dtype: counts.tolist() for dtype, counts in given.table.bins.items()},
            shared_traits(given.bundle, verdicts),
            list(notes(given, verdicts)),
        )
        if self.explained > self.most_explained:
            report.notes.append(
                f"{self.explained} outputs are beyond their bound; {self.most_explained} of them"
                " were looked at element by element"
            )
        totals = ", ".join(f"{count} {verdict}" for verdict, count in report.totals.items())
        _log.info("%s: %s", given.answers.file.path, totals)
        return report

    def _verdict(self, row: int) -> Verdict:
        given, case, facts = self.given, self.given.bundle.ids[row], self._facts(row)
        status, goldens = given.statuses[row], given.of_case.get(row, [])
        if row in given.compared:
            facts["outputs"] = {
                given.name(i): given.metrics[i] for i in goldens if i in given.metrics
            }
            faults = [fault for i in goldens if (fault := self._fault(i))]
            if faults:
                lost = (given.answers.output[goldens] < 0).all()
                causes = sorted({cause for _, cause in faults if cause})
                facts["causes"] = ["no output is returned"] if lost else causes
                return Verdict(case, FAILED, "; ".join(text for text, _ in faults), facts)
            ratios = (output["ratio"] for output in facts["outputs"].values())
            facts["ratio"] = max(ratios, default=0.0)
        detail = status.detail
        if status.verdict == PASSED:
            if given.answers.status(row) == 0 and (why := why_inconclusive(given, row)):
                return Verdict(case, INCONCLUSIVE, why, facts)
            judged = given.table["elements"][goldens] - given.table["unbounded"][goldens]
            facts["evidence"] = status.evidence or bool(judged.any())
        if row in given.answers.masked:
            facts["masked"] = given.answers.masked[row]
            detail = "; ".join(filter(None, (detail, given.answers.masked[row])))
        if status.verdict in (*STRICT, INCONCLUSIVE):
            facts |= {"causes": [status.cause], "rules": list(status.rules)}
        return Verdict(case, status.verdict, detail, facts)

    def _fault(self, i: int) -> tuple[str, str] | None:
        """What is wrong with one output, and the part of it that others may share; None where
        nothing is.
        """
        given, name = self.given, self.given.name(i)
        if i not in given.metrics:
            text = f"{name}: {given.answers.forms.get(i, 'not returned')}"
            return text, text
        beyond, elements = (int(given.table[column][i]) for column in ("beyond", "elements"))
        left = unwritten_elements.in_words(given.unwritten[i], elements)
        if not beyond:
            left = left or given.wrong_sums.get(i, "")
            return (f"{name}: {left}", left.partition(":")[0]) if left else None
        self.explained += 1
        if self.explained > self.most_explained:
            return f"{name}: {beyond} of {elements} elements beyond the bound", ""
        case = given.bundle[int(given.goldens.case[i])]
        output = explain.compared(case, name, given.answers.tensor(i))
        like = left or explain.likeness(output)
        return explain.sentence(output, like), like

    def _with_intent(self, row: int, verdict: Verdict) -> Verdict:
        """A verdict; of a case that somebody wrote and that fails, also what it is for."""
        case = self.given.bundle[row] if verdict.verdict in BAD else None
        if case is None or case.kind not in WRITTEN or not case.intent:
            return verdict
        return replace(verdict, detail=f"{verdict.detail}; note on the case: {case.intent}")

    def _deviations(self, verdicts: dict[int, Verdict]) -> dict[int, Verdict]:
        """The cases whose failing numbers a numeric erratum of the library explains, and those that
        ran and failed where its code may fault.
        """
        given = self.given
        if given.truth == "page":
            return {}
        bad = [row for row, verdict in verdicts.items() if verdict.verdict in (FAILED, CRASHED)]
        known = {}
        for row, entries, reason in deviations(given, bad):
            verdict = verdicts[row]
            facts = {**verdict.metrics, "causes": entries}
            known[row] = Verdict(verdict.case, KNOWN, f"{reason} ({verdict.detail})", facts)
        return known

    def _unusual(self, verdicts: Mapping[int, Verdict]) -> dict[int, Verdict]:
        """The cases that pass although an error is larger than rounding is likely to make it."""
        passed = [row for row, verdict in verdicts.items() if verdict.verdict == PASSED]
        return {
            row: Verdict(
                verdicts[row].case,
                UNUSUAL,
                reason,
                {**verdicts[row].metrics, "causes": [unusual.CAUSE]},
            )
            for row, reason in unusual.unusual(self.given, passed)
        }

    def _facts(self, row: int) -> Facts:
        given = self.given
        record, words = given.bundle.tables["cases"][row], given.bundle.words
        goldens = given.of_case.get(row)
        facts: Facts = {
            **{
                name: words[f"cases.{name}"][int(record[name])]
                for name in ("op", "product", "kind", "bucket")
            },
            "phase": int(record["phase"]),
            "dtype": str(given.precisions.dtype[goldens[0]]) if goldens else "",
            "recipe": given.bundle.strings[record["recipe"]],
        }
        if given.answers.row[row] >= 0:
            time = given.answers.time(row)
            facts |= {
                "status": given.answers.status(row),
                "run_status": given.answers.status(row, run=True),
                "seconds": None if isnan(time) else time,
            }
        return facts
