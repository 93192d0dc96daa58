"""Goldens against a device's answers: a verdict per case, and every criterion at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from opgen.bundle.read.reader import Bundle
from opgen.bundle.results.reader import ResultsFile
from opgen.calls.ids import chosen
from opgen.comparison import deviations, explain, metrics
from opgen.comparison.alignment import AlignedResults, GoldenRows, align, outputs_of
from opgen.comparison.firstphase import StatusVerdict, status_verdict
from opgen.comparison.measuring import Precisions, measured, precisions
from opgen.comparison.metrics import MetricTable
from opgen.comparison.outcome import Report
from opgen.comparison.statuses import (
    BAD,
    FAILED,
    INCONCLUSIVE,
    KNOWN,
    LENIENT,
    PASSED,
    SKIPPED,
    STRICT,
)
from opgen.comparison.traits import findings
from opgen.model import TRUTHS, Truth, Verdict

EXPLAINED = 2000
"""Outputs beyond their bound that are looked at element by element for a sentence; the rest get the
numbers alone."""
REASONS = 5
"""Reasons for skipping that a report names, the most frequent first."""
File = str | Path


def diff(
    bundle: File | Bundle,
    results: File | ResultsFile,
    *,
    against: File | ResultsFile | None = None,
    again: File | ResultsFile | Sequence[File | ResultsFile] = (),
    truth: Truth = "both",
    cases: str | Iterable[str] = (),
) -> Report:
    """Compare the answers of a device with a bundle.

    ``against``: another device's results, for the double benchmark. ``again``: results of repeated
    runs, which should have the same bits. ``truth``: whose status codes count; ``both`` is the
    page, with what agrees with the library alone as *known deviation*. ``cases``: only these ids or
    globs. Of ``again`` and ``cases`` one may stand alone. Raises BundleError for files that are
    damaged or do not belong together, FileError for a pattern that matches nothing, ValueError for
    another ``truth``.
    """
    if truth not in TRUTHS:
        raise ValueError(f"truth: {truth!r} is none of {', '.join(TRUTHS)}")
    patterns = (cases,) if isinstance(cases, str) else cases
    repeated = (again,) if isinstance(again, (str, Path, ResultsFile)) else again
    with ExitStack() as stack:

        def opened(file: Any, kind: type) -> Any:
            return stack.enter_context(kind(file)) if isinstance(file, (str, Path)) else file

        whole: Bundle = opened(bundle, Bundle)
        outputs = outputs_of(whole)
        mine = align(whole, outputs, opened(results, ResultsFile))
        other = align(whole, outputs, opened(against, ResultsFile)) if against is not None else None
        repeats = [align(whole, outputs, opened(file, ResultsFile)) for file in repeated]
        return _Diff(
            whole,
            outputs,
            mine,
            truth,
            chosen(whole.ids, patterns, str(whole.path)),
            other,
            repeats,
        ).report()


class _Diff:
    """The work of one :func:`diff`."""

    def __init__(
        self,
        bundle: Bundle,
        outputs: GoldenRows,
        answers: AlignedResults,
        truth: Truth,
        rows: list[int],
        other: AlignedResults | None,
        repeats: Sequence[AlignedResults],
    ) -> None:
        self.bundle, self.outputs, self.answers, self.truth, self.rows = (
            bundle,
            outputs,
            answers,
            truth,
            rows,
        )
        self.other, self.repeats = other, repeats
        self.of_case: dict[int, list[int]] = {}
        for i, case in enumerate(outputs.case.tolist()):
            self.of_case.setdefault(case, []).append(i)
        self.which: Precisions = precisions(bundle, outputs)
        self.first: dict[int, StatusVerdict] = {
            row: status_verdict(bundle, answers, row, truth, bool(self.of_case.get(row)))
            for row in rows
        }
        returned = [
            i for row in rows if self._ran(row) for i in self.of_case[row] if answers.output[i] >= 0
        ]
        self.asked, self.table = self._measured(answers, np.array(returned, dtype=np.int64))
        self.met = metrics.criteria(self.table, self.which.name) if len(outputs) else {}
        if other is not None:
            self.met |= self._double(other)
        self.measured = np.zeros(len(outputs), dtype=bool)
        self.measured[self.asked] = True
        self.repeated = self._repeated()
        self.explained = 0

    def report(self) -> Report:
        found = {
            row: self._verdict(row, compared=row in self.of_case and self._ran(row))
            for row in self.rows
        }
        self._deviations(found)
        verdicts = [found[row] for row in self.rows]
        return Report(
            verdicts,
            self._origin(),
            {
                name: (int(values[self.asked].sum()), len(self.asked))
                for name, values in self.met.items()
            },
            {dtype: counts.tolist() for dtype, counts in self.table.bins.items()},
            findings(self.bundle, dict(zip(self.rows, verdicts, strict=True))),
            list(self._notes(verdicts)),
        )

    def _ran(self, row: int) -> bool:
        """Whether there are goldens to compare with, and a device that says it has computed."""
        return (
            row in self.of_case
            and self.first[row].verdict in (PASSED, LENIENT, KNOWN)
            and self.answers.status(row) == 0
        )

    # numbers --------------------------------------------------------------------------------------
    def _measured(
        self, answers: AlignedResults, positions: np.ndarray
    ) -> tuple[np.ndarray, MetricTable]:
        """Those of some outputs that are in their form, and their metrics."""
        sound = _without(positions, answers.forms)
        return sound, measured(self.bundle, self.outputs, answers, self.which, sound)

    def _double(self, other: AlignedResults) -> dict[str, np.ndarray]:
        """The criteria of the double benchmark, met only where the other device has the output
        too.
        """
        both, theirs = self._measured(other, self.asked[other.output[self.asked] >= 0])
        there = np.isin(np.arange(len(self.outputs)), both)
        return {
            name: values & there for name, values in metrics.against(self.table, theirs).items()
        }

    def _repeated(self) -> np.ndarray:
        """(outputs,) how many of the repeated runs gave other bits, by the digests of the
        tensors.
        """
        differs = np.zeros(len(self.outputs), dtype=np.int64)
        mine = self.answers.file.tables["tensors"]["digest"]
        for one in self.repeats:
            both = self.asked[one.output[self.asked] >= 0]
            for i in both.tolist():
                one.tensor(i)  # BundleError where a digest is not that of the bytes
            differs[both] += (
                mine[self.answers.output[both]]
                != one.file.tables["tensors"]["digest"][one.output[both]]
            )
        return differs

    def _verdict(self, row: int, compared: bool) -> Verdict:
        first, facts, name = self.first[row], self._facts(row), self.bundle.ids[row]
        verdict = first.verdict
        if compared:
            wrong = [said for i in self.of_case[row] if (said := self._output(i))]
            facts["outputs"] = {
                self._name(i): metrics.plain(self.table, self.met, self.repeated, i)
                for i in self.of_case[row]
                if self.measured[i]
            }
            if wrong:
                lost = all(self.answers.output[i] < 0 for i in self.of_case[row])
                facts["causes"] = (
                    ["no output is returned"]
                    if lost
                    else sorted({cause for _, cause in wrong} - {""})
                )
                return Verdict(name, FAILED, "; ".join(text for text, _ in wrong), facts)
            facts["ratio"] = max((one["ratio"] for one in facts["outputs"].values()), default=0.0)
        if (
            verdict == PASSED
            and self.answers.status(row) == 0
            and (why := self._vacuous(row, compared))
        ):
            return Verdict(name, INCONCLUSIVE, why, facts)
        if verdict in STRICT:
            facts |= {"causes": [first.cause], "rules": list(first.rules)}
        return Verdict(name, verdict, first.detail, facts)

    def _output(self, i: int) -> tuple[str, str] | None:
        """What is wrong with one output, and the part of it that others may share; None where
        nothing is.
        """
        name = self._name(i)
        if i in self.answers.forms or self.answers.output[i] < 0:
            text = f"{name}: {self.answers.forms.get(i, 'not returned')}"
            return text, text
        beyond = int(self.table["beyond"][i])
        if not beyond:
            return None
        self.explained += 1
        if self.explained > EXPLAINED:
            return (
                f"{name}: {beyond} of {int(self.table['elements'][i])} elements beyond the bound",
                "",
            )
        found = explain.compared(
            self.bundle[int(self.outputs.case[i])], name, self.answers.tensor(i)
        )
        like = explain.likeness(found)
        return explain.sentence(found, like), like

    def _vacuous(self, row: int, compared: bool) -> str:
        why: str = self.bundle.strings[self.bundle.tables["cases"]["inconclusive"][row]]
        mine = self.of_case.get(row, [])
        if why or not compared or not self.table["elements"][mine].sum():
            return why
        if (self.table["unbounded"][mine] == self.table["elements"][mine]).all():
            return "every bound is infinite"
        empty = [
            self._name(i) for i in mine if self.table["nonzero"][i] and not self.table["telling"][i]
        ]
        return (
            f"{', '.join(empty)}: no golden is larger than its bound, so that zeros would pass"
            if empty
            else ""
        )

    def _deviations(self, found: dict[int, Verdict]) -> None:
        """Failing numbers that a numeric erratum of the library explains."""
        if self.truth == "page":
            return
        rows = [
            row for row, verdict in found.items() if verdict.verdict == FAILED and self._ran(row)
        ]
        rows = [row for row in rows if all(self.measured[i] for i in self.of_case[row])]
        for row, entries, reason in deviations.explained(self.bundle, rows, self._returned):
            facts = {**found[row].metrics, "causes": entries}
            found[row] = Verdict(found[row].case, KNOWN, f"{reason} ({found[row].detail})", facts)

    def _returned(self, row: int) -> dict[str, np.ndarray]:
        return {self._name(i): self.answers.tensor(i) for i in self.of_case[row]}

    # words ----------------------------------------------------------------------------------------
    def _name(self, i: int) -> str:
        return self.bundle.names[int(self.outputs.name[i])]

    def _facts(self, row: int) -> dict[str, Any]:
        record, words = self.bundle.tables["cases"][row], self.bundle.words
        facts: dict[str, Any] = {
            name: words[f"cases.{name}"][int(record[name])]
            for name in ("op", "product", "kind", "bucket")
        }
        mine = self.of_case.get(row)
        facts |= {
            "phase": int(record["phase"]),
            "dtype": str(self.which.dtype[mine[0]]) if mine else "",
            "recipe": self.bundle.strings[record["recipe"]],
        }
        if self.answers.row[row] >= 0:
            facts |= {
                "status": self.answers.status(row),
                "run_status": self.answers.status(row, run=True),
            }
            time = self.answers.time(row)
            facts["seconds"] = None if isnan(time) else time
        return facts

    def _origin(self) -> dict[str, Any]:
        hidden = ("format", "format_version", "bundle")
        return {
            "bundle": str(self.bundle.path),
            "bundle_digest": self.bundle.digest,
            "results": str(self.answers.file.path),
            "results_digest": self.answers.file.digest,
            "device": {k: v for k, v in self.answers.file.header.items() if k not in hidden},
            "against": str(self.other.file.path) if self.other else None,
            "again": [str(one.file.path) for one in self.repeats],
            "truth": self.truth,
        }

    def _notes(self, verdicts: Sequence[Verdict]) -> Iterator[str]:
        if self.answers.file.header.get("note"):
            yield str(self.answers.file.header["note"])
        reasons = Counter(verdict.detail for verdict in verdicts if verdict.verdict == SKIPPED)
        yield from (
            f"{count} skipped: {reason or 'no reason given'}"
            for reason, count in reasons.most_common(REASONS)
        )
        if len(self.rows) < len(self.bundle):
            yield f"{len(self.rows)} of {len(self.bundle)} cases of the bundle were asked for"
        bad = [
            row for row, verdict in zip(self.rows, verdicts, strict=True) if verdict.verdict in BAD
        ]
        left = sum(not self.measured[i] for row in bad for i in self.of_case.get(row, []))
        if left:
            whole = left + len(self.asked)
            yield (
                f"{left} of {whole} outputs were not compared: they are missing, in another form,"
                " or of calls that failed"
            )
        if self.explained > EXPLAINED:
            yield (
                f"{self.explained} outputs are beyond their bound; {EXPLAINED} of them were looked"
                " at element by element"
            )
        unsteady = {
            verdict.case
            for verdict in verdicts
            if any(one["differs"] for one in verdict.metrics.get("outputs", {}).values())
        }
        if unsteady:
            yield (
                f"{len(unsteady)} cases gave other bits when they were repeated,"
                f" {sorted(unsteady)[0]} among them"
            )
        if verdicts and all(verdict.verdict == SKIPPED for verdict in verdicts):
            yield "every case was skipped: nothing is proved"


def _without(positions: np.ndarray, some: Collection[int]) -> np.ndarray:
    return positions[~np.isin(positions, list(some))]
