"""Goldens against a device's answers: a verdict per case, and every criterion at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import ResultsFile
from opgen.calls.ids import select_ids
from opgen.comparison import deviations, explain, metrics, unwritten
from opgen.comparison.alignment import AlignedResults, GoldenRows, align, goldens_of
from opgen.comparison.diff_report import DiffReport
from opgen.comparison.first_phase import status_verdict
from opgen.comparison.measuring import Precisions, measured, precisions
from opgen.comparison.metrics import MetricTable
from opgen.comparison.statuses import (
    BAD,
    CRASHED,
    ENDED,
    FAILED,
    INCONCLUSIVE,
    KNOWN,
    LENIENT,
    PASSED,
    SKIPPED,
    STRICT,
)
from opgen.comparison.traits import shared_traits
from opgen.model import TRUTHS, Truth, Verdict
from opgen.numerics.arrays import Array
from opgen.oracle.errata import Errata

EXPLAINED = 2000
"""Outputs beyond their bound that are looked at element by element for a sentence; the rest get the
numbers alone."""
REASONS = 5
"""Reasons for skipping that a report names, the most frequent first."""
File = str | Path
Opened = TypeVar("Opened", Bundle, ResultsFile)
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
    errata: Mapping[str, Errata] | None = None,
    most_explained: int = EXPLAINED,
) -> DiffReport:
    """Compare the answers of a device with a bundle.

    ``against``: another device's results, for the double benchmark. ``again``: results of repeated
    runs, which should have the same bits. ``truth``: whose status codes count; ``both`` is the
    page, with what agrees with the library alone as *known deviation*. ``cases``: only these ids or
    globs. Of ``again`` and ``cases`` one may stand alone. ``errata``: by operator, what numbers a
    library is known to return; the shipped ones by default. ``most_explained``: outputs that are
    looked at element by element at most. Raises BundleError for files that are damaged or do not
    belong together, FileError for a pattern that matches nothing, ValueError for another ``truth``.
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
        return _Diff(
            whole, goldens, answers, truth, rows, other, repeats, errata, most_explained
        ).report()


class _Diff:
    """The work of one :func:`diff`. ``i`` is a row of the goldens everywhere."""

    def __init__(
        self,
        bundle: Bundle,
        goldens: GoldenRows,
        answers: AlignedResults,
        truth: Truth,
        rows: list[int],
        other: AlignedResults | None,
        repeats: Sequence[AlignedResults],
        errata: Mapping[str, Errata] | None,
        most_explained: int,
    ) -> None:
        self.bundle, self.goldens, self.answers, self.truth = bundle, goldens, answers, truth
        self.rows, self.other, self.repeats, self.errata = rows, other, repeats, errata
        self.explained, self.most_explained = 0, most_explained
        of_case: dict[int, list[int]] = defaultdict(list)
        for i, case in enumerate(goldens.case.tolist()):
            of_case[case].append(i)
        self.of_case = dict(of_case)
        self.statuses = {
            row: status_verdict(bundle, answers, row, truth, row in of_case) for row in rows
        }
        self.compared = {
            row
            for row in rows
            if row in self.of_case
            and self.statuses[row].verdict in (PASSED, LENIENT, KNOWN)
            and answers.status(row) == 0
        }
        self.precisions: Precisions = precisions(bundle, goldens)
        returned = [i for row in rows if row in self.compared for i in self.of_case[row]]
        self.asked, self.table = self._measured(answers, np.array(returned, dtype=np.int64))
        self.judged = self.table["elements"] - self.table["unbounded"]
        self.met = metrics.criteria(self.table, self.precisions.name) if len(goldens) else {}
        if other is not None:
            self.met |= self._double(other)
        more = {
            "differs": sum(map(self._differs, repeats), np.zeros(len(goldens), dtype=np.int64)),
            "unwritten": unwritten.column(answers, len(goldens), self.asked),
        }
        self.metrics = metrics.plain(self.table, self.met, more, self.asked)

    def report(self) -> DiffReport:
        verdicts = {row: self._verdict(row) for row in self.rows}
        verdicts |= self._deviations(verdicts)
        listed = list(verdicts.values())
        return DiffReport(
            listed,
            self._origin(),
            {name: (int(met[self.asked].sum()), len(self.asked)) for name, met in self.met.items()},
            {dtype: counts.tolist() for dtype, counts in self.table.bins.items()},
            shared_traits(self.bundle, verdicts),
            list(self._notes(verdicts)),
        )

    # numbers --------------------------------------------------------------------------------------
    def _measured(self, answers: AlignedResults, wanted: Array) -> tuple[Array, MetricTable]:
        """Those of some goldens whose outputs are there and in their form, and their metrics."""
        sound = wanted[(answers.output[wanted] >= 0) & ~np.isin(wanted, list(answers.forms))]
        return sound, measured(self.bundle, self.goldens, answers, self.precisions, sound)

    def _double(self, other: AlignedResults) -> dict[str, Array]:
        """The criteria of the double benchmark, met only where the other device has the output
        too.
        """
        both, theirs = self._measured(other, self.asked)
        there = np.isin(np.arange(len(self.goldens)), both)
        return {name: met & there for name, met in metrics.against(self.table, theirs).items()}

    def _differs(self, repeat: AlignedResults) -> Array:
        """(goldens,) where a repeated run gave other bits, by the digests of the tensors."""
        both = self.asked[repeat.output[self.asked] >= 0]
        for i in both.tolist():
            repeat.tensor(i)  # BundleError where a digest is not that of the bytes
        differs = np.zeros(len(self.goldens), dtype=np.int64)
        differs[both] = self.answers.digests(both) != repeat.digests(both)
        return differs

    # verdicts -------------------------------------------------------------------------------------
    def _verdict(self, row: int) -> Verdict:
        status, case, facts = self.statuses[row], self.bundle.ids[row], self._facts(row)
        if row in self.compared:
            goldens = self.of_case[row]
            facts["outputs"] = {
                self._name(i): self.metrics[i] for i in goldens if i in self.metrics
            }
            faults = [fault for i in goldens if (fault := self._fault(i))]
            if faults:
                lost = (self.answers.output[goldens] < 0).all()
                causes = sorted({cause for _, cause in faults if cause})
                facts["causes"] = ["no output is returned"] if lost else causes
                return Verdict(case, FAILED, "; ".join(text for text, _ in faults), facts)
            ratios = (output["ratio"] for output in facts["outputs"].values())
            facts["ratio"] = max(ratios, default=0.0)
        accepted = status.verdict == PASSED and self.answers.status(row) == 0
        if accepted and (why := self._vacuous(row)):
            return Verdict(case, INCONCLUSIVE, why, facts)
        if status.verdict == PASSED:
            judged = self.judged[self.of_case.get(row, [])]
            facts["evidence"] = status.evidence or bool(judged.any())
        if status.verdict in STRICT:
            facts |= {"causes": [status.cause], "rules": list(status.rules)}
        return Verdict(case, status.verdict, status.detail, facts)

    def _fault(self, i: int) -> tuple[str, str] | None:
        """What is wrong with one output, and the part of it that others may share; None where
        nothing is.
        """
        name = self._name(i)
        if i in self.answers.forms or self.answers.output[i] < 0:
            text = f"{name}: {self.answers.forms.get(i, 'not returned')}"
            return text, text
        beyond, elements = (int(self.table[column][i]) for column in ("beyond", "elements"))
        left = unwritten.in_words(self.metrics[i]["unwritten"], elements)
        if not beyond:
            return (f"{name}: {left}", left) if left else None
        self.explained += 1
        if self.explained > self.most_explained:
            return f"{name}: {beyond} of {elements} elements beyond the bound", ""
        case = self.bundle[int(self.goldens.case[i])]
        output = explain.compared(case, name, self.answers.tensor(i))
        like = left or explain.likeness(output)
        return explain.sentence(output, like), like

    def _vacuous(self, row: int) -> str:
        """Why a pass of a case proves nothing; empty where it does prove something."""
        why: str = self.bundle.strings[self.bundle.tables["cases"]["inconclusive"][row]]
        goldens = self.of_case.get(row, [])
        if why or row not in self.compared or not self.table["elements"][goldens].sum():
            return why
        if (self.table["unbounded"][goldens] == self.table["elements"][goldens]).all():
            return "every bound is infinite"
        empty = [i for i in goldens if self.table["nonzero"][i] and not self.table["telling"][i]]
        names = ", ".join(map(self._name, empty))
        return f"{names}: no golden is larger than its bound, so zeros would pass" if empty else ""

    def _deviations(self, verdicts: dict[int, Verdict]) -> dict[int, Verdict]:
        """The cases whose failing numbers a numeric erratum of the library explains, and those that
        ran and failed where its code may fault.
        """
        if self.truth == "page":
            return {}
        bad = [row for row, verdict in verdicts.items() if verdict.verdict in (FAILED, CRASHED)]
        failing = [
            row
            for row in bad
            if row in self.compared and self.metrics.keys() >= set(self.of_case[row])
        ]
        ran = [row for row in bad if self.answers.status(row) in (0, *ENDED)]
        known = {}
        for row, entries, reason in chain(
            deviations.faulted(self.bundle, ran, self.errata),
            deviations.explained(self.bundle, failing, self._returned, self.errata),
        ):
            verdict = verdicts[row]
            facts = {**verdict.metrics, "causes": entries}
            known[row] = Verdict(verdict.case, KNOWN, f"{reason} ({verdict.detail})", facts)
        return known

    def _returned(self, row: int) -> dict[str, tuple[Array, int | None]]:
        return {
            self._name(i): (self.answers.tensor(i), self.metrics[i]["unwritten"])
            for i in self.of_case[row]
        }

    # words ----------------------------------------------------------------------------------------
    def _name(self, i: int) -> str:
        return self.bundle.names[int(self.goldens.name[i])]

    def _facts(self, row: int) -> Facts:
        record, words = self.bundle.tables["cases"][row], self.bundle.words
        goldens = self.of_case.get(row)
        facts: Facts = {
            **{
                name: words[f"cases.{name}"][int(record[name])]
                for name in ("op", "product", "kind", "bucket")
            },
            "phase": int(record["phase"]),
            "dtype": str(self.precisions.dtype[goldens[0]]) if goldens else "",
            "recipe": self.bundle.strings[record["recipe"]],
        }
        if self.answers.row[row] >= 0:
            time = self.answers.time(row)
            facts |= {
                "status": self.answers.status(row),
                "run_status": self.answers.status(row, run=True),
                "seconds": None if isnan(time) else time,
            }
        return facts

    def _origin(self) -> dict[str, object]:
        hidden = ("format", "format_version", "bundle")
        file = self.answers.file
        return {
            "bundle": str(self.bundle.path),
            "bundle_digest": self.bundle.digest,
            "results": str(file.path),
            "results_digest": file.digest,
            "device": {key: value for key, value in file.header.items() if key not in hidden},
            "against": str(self.other.file.path) if self.other else None,
            "again": [str(repeat.file.path) for repeat in self.repeats],
            "truth": self.truth,
        }

    def _notes(self, verdicts: dict[int, Verdict]) -> Iterator[str]:
        """What is worth knowing about the whole."""
        if note := self.answers.file.header.get("note"):
            yield str(note)
        skipped = Counter(v.detail for v in verdicts.values() if v.verdict == SKIPPED)
        for reason, count in skipped.most_common(REASONS):
            yield f"{count} skipped: {reason or 'no reason given'}"
        if len(self.rows) < len(self.bundle):
            yield f"{len(self.rows)} of {len(self.bundle)} cases of the bundle were asked for"
        alone = [row for row in self.rows if self.statuses[row].alone]
        if alone:
            yield (
                "invalid cases that passed though their nearest valid call was not run:"
                f" {len(alone)}, such as {self.bundle.ids[alone[0]]}"
            )
        bad = [row for row, verdict in verdicts.items() if verdict.verdict in BAD]
        left = sum(i not in self.metrics for row in bad for i in self.of_case.get(row, []))
        if left:
            yield (
                f"{left} of {left + len(self.asked)} outputs were not compared: they are missing,"
                " in another form, or of calls that failed"
            )
        if note := unwritten.note(self.metrics[i]["unwritten"] for i in self.asked.tolist()):
            yield note
        if self.explained > self.most_explained:
            yield (
                f"{self.explained} outputs are beyond their bound; {self.most_explained} of them"
                " were looked at element by element"
            )
        unsteady = sorted(
            verdict.case
            for verdict in verdicts.values()
            if any(output["differs"] for output in verdict.metrics.get("outputs", {}).values())
        )
        if unsteady:
            yield (
                f"{len(unsteady)} cases gave different bits in a repeated run,"
                f" {unsteady[0]} among them"
            )
