"""Back-test: the two sources compared with statuses that the published library really returned.

A file of the call form with ``status`` (null where the host died) and ``firm`` per line goes in;
agreement per operator, product, stage of the library and broken rule of the page comes out, with
every disagreement. :mod:`opgen.report.backtest` writes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType

from opgen.calls.call_json import ForeignCall
from opgen.calls.jsonl import NamedCall, read_calls
from opgen.calls.table import from_calls
from opgen.calls.vocabulary import vocabulary
from opgen.model import CRASH, Code, FileError, Problem, admits
from opgen.oracle import library
from opgen.oracle.differences import differences
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
class JudgedRun:
    """One call that was run, what came of it, and what both sources say."""

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
    """What a back-test found. ``counts`` maps (firm, kind, operator, name) to a :class:`Count`;
    ``wrong`` are runs that the library side gets wrong, ``unexplained`` those on which page and
    library differ and no entry says why, ``explained`` counts (operator, entry), ``foreign`` the
    calls that no page here judges, by (operator, the page's parameters, the call's own).
    """

    releases: tuple[str, ...] = ()
    counts: dict[tuple[bool, str, str, str], Count] = field(default_factory=dict)
    wrong: list[JudgedRun] = field(default_factory=list)
    unexplained: list[JudgedRun] = field(default_factory=list)
    explained: Counter[tuple[str, str]] = field(default_factory=Counter)
    foreign: Counter[tuple[str, tuple[str, ...], tuple[str, ...]]] = field(default_factory=Counter)

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


def load(
    source: str | Path,
    pages: Catalog,
    foreign: list[ForeignCall] | None = None,
    skipped: list[Problem] | None = None,
) -> list[NamedCall]:
    """Read a file of calls with statuses; raises FileError naming each line that has none, or says
    no clear thing of it. ``foreign`` takes the calls of operators that have no spec, and of other
    editions, ``skipped`` the lines that are no call.
    """
    named = read_calls(source, pages.kinds, skipped, foreign)
    known = {None, *vocabulary().status}
    problems = []
    for call in named:
        status, firm = call.extra.get("status", ...), call.extra.get("firm", True)
        if type(status) not in (int, NoneType) or status not in known:
            text = "the key 'status' must be a status code, or null where the host died"
            problems.append(Problem(str(source), call.line, call.id, text))
        if not isinstance(firm, bool):
            text = f"the key 'firm' must be true or false, not {firm!r}"
            problems.append(Problem(str(source), call.line, call.id, text))
    if problems:
        raise FileError(problems)
    return named


def backtest(
    named: Sequence[NamedCall],
    pages: Catalog,
    errata: Mapping[str, Errata],
    foreign: Sequence[ForeignCall] = (),
) -> BacktestReport:
    """Judge every call by both sources and compare with its status."""
    report = BacktestReport(library.releases(errata))
    report.foreign = Counter((call.op, call.missing, call.unknown) for call in foreign)
    for spec in pages.pages({each.call.api for each in named}):
        calls = [n for n in named if pages.by_page[n.call.api, n.call.product] is spec]
        if calls:
            table = from_calls(spec.api, spec.kinds, [named.call for named in calls])
            judgement = judge(spec, table)
            _one_page(report, calls, judgement, library.answers_to(judgement, errata))
    return report


def other_releases(named: Sequence[NamedCall], errata: Mapping[str, Errata]) -> list[str]:
    """The releases that calls name, of which no errata speak."""
    told = {named.extra["release"] for named in named if "release" in named.extra}
    return sorted(map(str, told - {*library.releases(errata)}))


def status_of(named: NamedCall) -> Code:
    """The status that was run, or ``"crash"``."""
    status: int | None = named.extra["status"]
    return CRASH if status is None else status


def _one_page(
    report: BacktestReport,
    calls: list[NamedCall],
    judgement: Judgement,
    answers: library.LibraryAnswers | None,
) -> None:
    differing = None if answers is None else differences(answers)
    for row, (named, expectation) in enumerate(zip(calls, judgement.expectations(), strict=True)):
        api = named.call.api
        run = JudgedRun(
            id=named.id,
            api=api,
            product=named.call.product,
            firm=bool(named.extra.get("firm", True)),
            status=status_of(named),
            stage="unknown" if answers is None else answers.name(row),
            library=() if answers is None else answers.codes(row),
            page=expectation.codes,
            breaks=tuple(f"{b.rule} ({b.found})" for b in expectation.breaks),
            changed=tuple(map(str, named.extra.get("mutations", ()))),
        )
        right = admits(run.library, run.status)
        amount = Count(
            rows=1,
            library=int(right),
            page=int(admits(run.page, run.status)),
            two=int(len(run.library) > 1),
        )
        groups = [("operator", ""), ("product", run.product), ("stage", run.stage)]
        for kind, name in [*groups, *(("rule", broken.rule) for broken in expectation.breaks)]:
            report.count(run.firm, kind, api, name, amount)
        if not right:
            report.wrong.append(run)
        if differing is not None and differing.differs[row]:
            if not differing.explained[row]:
                report.unexplained.append(run)
            for entry in differing.entries(row):
                report.explained[api, entry] += 1
