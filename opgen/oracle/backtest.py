"""Back-test: the two sources held against statuses that the published library really returned.

A file of the call form with ``status`` (null where the host died) and ``firm`` per line goes in;
agreement per operator, product, stage of the library and broken rule of the page comes out, with
every disagreement. :mod:`opgen.report.backtest` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType

import numpy as np

from opgen.calls.jsonl import NamedCall, read_calls
from opgen.calls.table import from_calls
from opgen.calls.vocabulary import vocabulary
from opgen.model import CRASH, Code, FileError, Problem, admits
from opgen.oracle import library
from opgen.oracle.errata import Errata
from opgen.oracle.judgement import Judgement, judge
from opgen.spec.catalog import Catalog

KINDS = ("operator", "product", "stage", "rule")
"""What rows are counted by, within one operator."""


@dataclass
class Count:
    """How many rows there are, and on how many the library side and the page side agree with the
    run.
    """

    rows: int = 0
    library: int = 0
    page: int = 0
    two: int = 0

    def add(self, other: Count) -> None:
        self.rows += other.rows
        self.library += other.library
        self.page += other.page
        self.two += other.two

    @property
    def percent(self) -> float:
        """Agreement of the library side; 100 where there are no rows."""
        return 100.0 * self.library / self.rows if self.rows else 100.0


@dataclass(frozen=True)
class Disagreement:
    """One call that the library side gets wrong, or one difference between page and library that no
    entry explains.
    """

    id: str
    api: str
    product: str
    firm: bool
    status: Code
    stage: str
    library: tuple[Code, ...]
    page: tuple[Code, ...]
    breaks: tuple[str, ...]
    changed: tuple[str, ...]


@dataclass
class BacktestReport:
    """What a back-test found. ``counts`` maps (firm, kind, operator, name) to a :class:`Count`."""

    releases: tuple[str, ...] = ()
    counts: dict[tuple[bool, str, str, str], Count] = field(default_factory=dict)
    wrong: list[Disagreement] = field(default_factory=list)
    unexplained: list[Disagreement] = field(default_factory=list)
    explained: dict[tuple[str, str], int] = field(default_factory=dict)

    def count(self, firm: bool, kind: str, api: str, name: str, amount: Count) -> None:
        self.counts.setdefault((firm, kind, api, name), Count()).add(amount)

    def operators(self, firm: bool) -> dict[str, Count]:
        """Api -> agreement on the firm rows, or on the others."""
        return {
            api: count
            for (f, kind, api, _), count in self.counts.items()
            if f == firm and kind == "operator"
        }

    def below(self, percent: float) -> list[str]:
        """The operators whose library side agrees on fewer of the firm rows than that."""
        return [api for api, count in self.operators(True).items() if count.percent < percent]


def load(source: str | Path, pages: Catalog) -> list[NamedCall]:
    """Read a file of calls with statuses; raises FileError naming each line that has none, or says
    no clear thing of it.
    """
    named = read_calls(source, pages.kinds)
    known = {None, *vocabulary().status}
    problems = []
    for one in named:
        status, firm = one.extra.get("status", ...), one.extra.get("firm", True)
        if type(status) not in (int, NoneType) or status not in known:
            text = "the key 'status' must be a status code, or null where the host died"
            problems.append(Problem(str(source), one.line, one.id, text))
        if not isinstance(firm, bool):
            problems.append(
                Problem(
                    str(source),
                    one.line,
                    one.id,
                    f"the key 'firm' must be true or false, not {firm!r}",
                )
            )
    if problems:
        raise FileError(problems)
    return named


def backtest(
    named: Sequence[NamedCall], pages: Catalog, errata: Mapping[str, Errata]
) -> BacktestReport:
    """Judge every call by both sources and compare with its status."""
    report = BacktestReport(library.releases(errata))
    by_page: dict[str, list[NamedCall]] = {}
    for one in named:
        by_page.setdefault(pages.by_page[one.call.api, one.call.product].name, []).append(one)
    for spec in pages.specs:
        if spec.name in by_page:
            calls = by_page[spec.name]
            judgement = judge(spec, from_calls(spec.api, spec.kinds, [one.call for one in calls]))
            _one_page(report, calls, judgement, library.answers_to(judgement, errata.get(spec.api)))
    return report


def status_of(one: NamedCall) -> Code:
    """The status that was run, or ``"crash"``."""
    status: int | None = one.extra["status"]
    return CRASH if status is None else status


def _one_page(
    report: BacktestReport,
    calls: list[NamedCall],
    judgement: Judgement,
    answers: library.LibraryAnswers | None,
) -> None:
    differences = None if answers is None else library.differences(answers)
    rules = judgement.spec.rules
    for row, one in enumerate(calls):
        status, firm, api = status_of(one), bool(one.extra.get("firm", True)), one.call.api
        codes = () if answers is None else answers.codes(row)
        stage = "unknown" if answers is None else answers.name(row)
        right = admits(codes, status)
        amount = Count(
            1, int(right), int(admits(judgement.codes(row), status)), int(len(codes) > 1)
        )
        report.count(firm, "operator", api, "", amount)
        report.count(firm, "product", api, one.call.product, amount)
        report.count(firm, "stage", api, stage, amount)
        for i in np.flatnonzero(judgement.broken[:, row]):
            report.count(firm, "rule", api, rules[i].id, amount)
        if not right:
            report.wrong.append(_disagreement(one, row, judgement, stage, codes))
        if differences is not None and differences.differs[row]:
            if not differences.explained[row]:
                report.unexplained.append(_disagreement(one, row, judgement, stage, codes))
            for entry in differences.entries(row):
                report.explained[api, entry] = report.explained.get((api, entry), 0) + 1


def _disagreement(
    one: NamedCall, row: int, judgement: Judgement, stage: str, codes: tuple[Code, ...]
) -> Disagreement:
    expectation = judgement.expectation(row)
    return Disagreement(
        id=one.id,
        api=one.call.api,
        product=one.call.product,
        firm=bool(one.extra.get("firm", True)),
        status=status_of(one),
        stage=stage,
        library=codes,
        page=expectation.codes,
        breaks=tuple(f"{b.rule} ({b.found})" for b in expectation.breaks),
        changed=tuple(map(str, one.extra.get("mutations", ()))),
    )
