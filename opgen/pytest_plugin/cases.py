"""Cases as tests: a bundle is a file of tests, a case an item, and what is judged is judged at once
before they run.
"""

from __future__ import annotations

import datetime
import shlex
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from opgen.report.terminal import visible

if TYPE_CHECKING:
    from opgen.comparison.diff_report import DiffReport

PLUGIN = "opgen cases"
"""The plugin of a session that has bundles."""
_REASONS = 5
"""Reasons of failures that the summary tells."""
_REPORTS = "opgen_reports"
"""What the workers of xdist are told: the reports of all bundles, as JSON."""


class Cases:
    """The cases of all bundles of a session."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        names: list[str] = config.getoption("--opgen-bundle")
        self.bundles = {(config.invocation_params.dir / name).resolve(): name for name in names}
        if len(self.bundles) < len(names):
            raise pytest.UsageError("give each bundle once to --opgen-bundle")
        self.ids = {path: _ids(name) for path, name in self.bundles.items()}
        self.reports: dict[Path, DiffReport] = {}
        self.proved: list[bool] = []
        self.numbers: list[bool | None] = []
        self.reasons: dict[str, list[str]] = defaultdict(list)

    def judge(self, chosen: dict[Path, list[str]]) -> dict[Path, DiffReport]:
        """The verdicts on the chosen cases of each bundle; a worker of xdist is told them."""
        import opgen
        from opgen.comparison import waivers
        from opgen.model import FileError
        from opgen.report import data

        told = getattr(self.config, "workerinput", {}).get(_REPORTS)
        if told is not None:
            texts = (data.parse(text, "xdist") for text in told)
            return dict(zip(self.bundles, texts, strict=True))
        path = self.config.getoption("--opgen-waivers")
        try:
            accepted = waivers.read(path) if path else []
            reports = {
                bundle: self._report(bundle, chosen[bundle])
                for bundle, every in self.ids.items()
                if chosen[bundle] or not every
            }
        except (opgen.BundleError, FileError) as error:
            raise pytest.UsageError(str(error)) from None
        whole = len(reports) == 1 and chosen == self.ids
        for report in reports.values():
            waivers.apply(report, accepted, datetime.date.today(), whole)
        return reports

    def _report(self, path: Path, chosen: Sequence[str]) -> DiffReport:
        import opgen

        cases = [] if len(chosen) == len(self.ids[path]) else chosen
        truth, answered = map(self.config.getoption, ("--opgen-truth", "--opgen-results"))
        results = dict(zip(self.bundles, answered, strict=False)).get(path)
        with opgen.open(path) as bundle, tempfile.TemporaryDirectory(prefix="opgen-") as folder:
            if results is None:
                results = f"{folder}/results.h5"
                name, device = map(self.config.getoption, ("--opgen-backend", "--opgen-device"))
                opgen.run(bundle, name, results, device=device, cases=cases)
            report: DiffReport = opgen.diff(bundle, results, truth=truth, cases=cases)
        return report

    def rerun(self, item: CaseItem) -> str:
        """The command that runs one case again."""
        place = [*self.bundles].index(item.path)
        words = ["pytest", "--opgen-bundle", self.bundles[item.path]]
        for name in ("results", "backend", "device", "waivers"):
            if value := self.config.getoption(f"--opgen-{name}"):
                words += [f"--opgen-{name}", value[place] if name == "results" else value]
        words += ["--opgen-truth", self.config.getoption("--opgen-truth")]
        words += ["--opgen-strict"] if self.config.getoption("--opgen-strict") else []
        return shlex.join((*words, f"{self.bundles[item.path]}::{item.name}"))

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> BundleFile | None:
        """A bundle is a file of tests."""
        path = file_path.resolve()
        return BundleFile.from_parent(parent, path=path) if path in self.bundles else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Tests are about to run."""
        if not self.config.getoption("collectonly"):
            chosen: dict[Path, list[str]] = {path: [] for path in self.bundles}
            for item in session.items:
                if isinstance(item, CaseItem):
                    chosen[item.path].append(item.case)
            self.reports = self.reports or self.judge(chosen)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A worker of xdist starts: what is wrong with the files is said before it does."""
        from opgen.report import data

        self.reports = self.reports or self.judge(self.ids)
        node.workerinput[_REPORTS] = list(map(data.text, self.reports.values()))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test is done, here or in a worker."""
        said: dict[str, Any] = dict(report.user_properties)
        if report.when == "call" and "evidence" in said:
            self.proved.append(said["evidence"])
            self.numbers.append(said["judged"])
            if report.failed:
                self.reasons[said["reason"]].append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Cases that prove nothing are no success."""
        if self.unproved and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @property
    def unproved(self) -> str:
        """Why nothing is proved where cases ran, or a bundle has none."""
        from opgen.comparison.diff_report import why_unproved

        empty = not all(map(len, self.reports.values()))
        return why_unproved(self.proved, self.numbers) if self.proved or empty else ""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """What there is to say of the whole comparison."""
        notes = chain.from_iterable(report.notes for report in self.reports.values())
        reasons = sorted(self.reasons.items(), key=lambda reason: -len(reason[1]))
        failures = [f"{len(ids)} failed: {reason}: {ids[0]}" for reason, ids in reasons]
        more = [f"... and {len(failures) - _REASONS} more reasons"] if failures[_REASONS:] else []
        lines = [*dict.fromkeys(notes), *failures[:_REASONS], *more]
        lines += filter(None, [self.unproved])
        if lines:
            terminalreporter.section("opgen")
        for line in lines:
            terminalreporter.write_line(visible(line))


class BundleFile(pytest.File):
    """A bundle as pytest sees it."""

    @property
    def cases(self) -> Cases:
        """The cases of the session, and the verdicts on them once they are there."""
        plugin = self.config.pluginmanager.get_plugin(PLUGIN)
        assert isinstance(plugin, Cases)
        return plugin

    def collect(self) -> Iterator[CaseItem]:
        """An item per case. Its whole id is given, so that pytest takes it apart as it does one
        that it has kept, for ``--lf``.
        """
        for case in self.cases.ids[self.path]:
            name = f"[{visible(case)}]"
            yield CaseItem.from_parent(self, name=name, nodeid=f"{self.nodeid}::{name}", case=case)


class CaseItem(pytest.Item):
    """One case."""

    parent: BundleFile

    def __init__(self, *, case: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case

    def runtest(self) -> None:
        from opgen.comparison.diff_report import judged, proves
        from opgen.comparison.statuses import BAD, PASSED, STRICT

        cases = self.parent.cases
        report = cases.reports[self.path]
        verdict = report[self.case]
        said = ": ".join(filter(None, (verdict.verdict, visible(verdict.detail))))
        facts = {key: verdict.metrics.get(key) for key in ("op", "product", "dtype", "recipe")}
        self.user_properties += [
            ("verdict", verdict.verdict),
            ("evidence", proves(verdict)),
            ("judged", judged(verdict)),
            ("reason", said),
            *((key, visible(fact)) for key, fact in facts.items() if fact),
            ("rerun", cases.rerun(self)),
        ]
        if self.case in report.waived:
            pytest.xfail(f"waived, {visible(report.waived[self.case])}: {said}")
        if report.fails(verdict, self.config.getoption("--opgen-strict")):
            pytest.fail(said, pytrace=False)
        if verdict.verdict in STRICT - BAD:
            pytest.xfail(said)
        if verdict.verdict != PASSED:
            pytest.skip(said)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where a test stands: in the bundle."""
        return self.path, None, visible(self.case)


def _ids(path: str) -> list[str]:
    """The ids of a bundle."""
    import opgen

    try:
        with opgen.open(path) as bundle:
            return list(bundle.ids)
    except opgen.BundleError as error:
        raise pytest.UsageError(str(error)) from None
