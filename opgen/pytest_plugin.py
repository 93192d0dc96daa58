"""A test per case of a bundle, for people who keep their checks in pytest.

``pytest --opgen-bundle suite.h5 --opgen-results results.h5`` judges a results file,
``--opgen-backend torch`` runs the cases first. Several bundles are judged one by one, each with the
results that stand at the same place. A test fails where the verdict is failed, crashed or missing;
lenient, unusual and known deviating cases are expected failures (failures under
``--opgen-strict``), as are those that ``--opgen-waivers FILE`` names; inconclusive and skipped ones
are skipped, all with the reason. pytest exits 1 where the cases that ran prove nothing. Other tests
run beside them only if a path is named.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from opgen.report.terminal import visible

if TYPE_CHECKING:
    from opgen.comparison.diff_report import DiffReport

_NAME = "opgen cases"
"""The plugin of a session that has bundles."""
_REPORTS = "opgen_reports"
"""What the workers of xdist are told: the reports of all bundles, as JSON."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, in a group of their own."""
    from opgen.model import TRUTHS

    group = parser.getgroup("opgen", "test vectors for NPU operators")
    group.addoption(
        "--opgen-bundle",
        metavar="FILE",
        action="append",
        default=[],
        help="a test for each case of this bundle (repeatable)",
    )
    group.addoption(
        "--opgen-results",
        metavar="FILE",
        action="append",
        default=[],
        help="what the device answered, once for each bundle",
    )
    group.addoption(
        "--opgen-backend", metavar="NAME", help="run the cases instead: torch, aclnn or mutant:NAME"
    )
    group.addoption(
        "--opgen-device",
        metavar="DEVICE",
        default="",
        help="device of the backend: cpu, cuda, npu:0",
    )
    group.addoption(
        "--opgen-truth", choices=TRUTHS, default="both", help="whose status codes count"
    )
    group.addoption(
        "--opgen-waivers",
        metavar="FILE",
        help="YAML file of verdicts that are accepted until a day",
    )
    group.addoption(
        "--opgen-strict",
        action="store_true",
        help="lenient, unusual and known deviating cases fail",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Whether there is anything to do."""
    bundles, results, backend, waivers = (
        config.getoption(f"--opgen-{name}") for name in ("bundle", "results", "backend", "waivers")
    )
    if not bundles:
        if results or backend or waivers:
            raise pytest.UsageError(
                "--opgen-results, --opgen-backend and --opgen-waivers need --opgen-bundle FILE"
            )
        return
    if bool(results) == bool(backend):
        raise pytest.UsageError(
            "--opgen-bundle needs either --opgen-results FILE or --opgen-backend NAME"
        )
    if results and len(results) != len(bundles):
        raise pytest.UsageError("give --opgen-results FILE once for each --opgen-bundle FILE")
    if (
        config.args_source is not config.ArgsSource.ARGS
    ):  # all that is tested, unless paths are given
        config.args = []
    config.pluginmanager.register(Cases(config), _NAME)


class Cases:
    """The cases of all bundles of a session."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.bundles = config, list(map(Path, config.getoption("--opgen-bundle")))
        self.reports: list[DiffReport] = []
        self.proved: list[bool] = []
        self.numbers: list[bool | None] = []

    def judge(self) -> list[DiffReport]:
        """The verdicts on each bundle; a worker of xdist is told them."""
        import opgen
        from opgen.comparison import waivers
        from opgen.model import FileError
        from opgen.report import data

        told = getattr(self.config, "workerinput", {}).get(_REPORTS)
        if told is not None:
            return [data.parse(text, "xdist") for text in told]
        path, results = map(self.config.getoption, ("--opgen-waivers", "--opgen-results"))
        try:
            accepted = waivers.read(path) if path else []
            reports = list(map(self._report, self.bundles, results or [None] * len(self.bundles)))
        except (opgen.BundleError, FileError) as error:
            raise pytest.UsageError(str(error)) from None
        for report in reports:
            whole = len(reports) == 1
            waivers.apply(report, accepted, datetime.date.today(), whole)
        return reports

    def _report(self, path: Path, results: str | None) -> DiffReport:
        import opgen
        from opgen.devices.running import run

        truth = self.config.getoption("--opgen-truth")
        with opgen.open(path) as bundle, tempfile.TemporaryDirectory(prefix="opgen-") as folder:
            if results is None:
                results = f"{folder}/results.h5"
                name, device = map(self.config.getoption, ("--opgen-backend", "--opgen-device"))
                run(bundle, name, results, device=device)
            report: DiffReport = opgen.diff(bundle, results, truth=truth)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add a test per case, before ``-k`` and marks choose among them."""
        import opgen

        for number, path in enumerate(self.bundles):
            try:
                with opgen.open(path) as bundle:
                    ids = bundle.ids
            except opgen.BundleError as error:
                raise pytest.UsageError(str(error)) from None
            name = visible(str(path))
            file = BundleFile.from_parent(
                session,
                name=name,
                nodeid=name,
                path=path,
                ids=ids,
                report=partial(lambda number: self.reports[number], number),
            )
            items.extend(file.collect())

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Tests are about to run."""
        if not self.config.getoption("collectonly"):
            self.reports = self.judge()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A worker of xdist starts: what is wrong with the files is said before it does."""
        from opgen.report import data

        self.reports = self.reports or self.judge()
        node.workerinput[_REPORTS] = list(map(data.text, self.reports))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test is done, here or in a worker."""
        said: dict[str, Any] = dict(report.user_properties)
        if report.when == "call" and "evidence" in said:
            self.proved.append(said["evidence"])
            self.numbers.append(said["judged"])

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Cases that prove nothing are no success."""
        if self.unproved and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @property
    def unproved(self) -> str:
        """Why nothing is proved where cases ran, or a bundle has none."""
        from opgen.comparison.diff_report import why_unproved

        empty = not all(map(len, self.reports))
        return why_unproved(self.proved, self.numbers) if self.proved or empty else ""

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """What there is to say of the whole comparison."""
        notes = dict.fromkeys(chain.from_iterable(report.notes for report in self.reports))
        lines = [*notes, *(filter(None, [self.unproved]))]
        if lines:
            terminalreporter.section("opgen")
        for line in lines:
            terminalreporter.write_line(visible(line))


class BundleFile(pytest.Collector):
    """A bundle as pytest sees it; ``report`` gives its verdicts once they are there."""

    def __init__(
        self, *, ids: Sequence[str], report: Callable[[], DiffReport], **rest: Any
    ) -> None:
        super().__init__(**rest)
        self.ids, self.report = ids, report

    def collect(self) -> Iterator[CaseItem]:
        """An item per case."""
        return (
            CaseItem.from_parent(self, name=f"[{visible(case)}]", case=case) for case in self.ids
        )


class CaseItem(pytest.Item):
    """One case."""

    parent: BundleFile

    def __init__(self, *, case: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case

    def runtest(self) -> None:
        from opgen.comparison.diff_report import judged, proves
        from opgen.comparison.statuses import BAD, PASSED, STRICT

        report = self.parent.report()
        verdict = report[self.case]
        self.user_properties.append(("verdict", verdict.verdict))
        self.user_properties.append(("evidence", proves(verdict)))
        self.user_properties.append(("judged", judged(verdict)))
        said = ": ".join(filter(None, (verdict.verdict, visible(verdict.detail))))
        if self.case in report.waived:
            pytest.xfail(f"waived, {visible(report.waived[self.case])}: {said}")
        if report.fails(verdict, self.config.getoption("--opgen-strict")):
            raise CaseFailure(f"{visible(self.case)}\n{said}")
        if verdict.verdict in STRICT - BAD:
            pytest.xfail(said)
        if verdict.verdict != PASSED:
            pytest.skip(said)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The verdict instead of a traceback."""
        return (
            str(excinfo.value)
            if isinstance(excinfo.value, CaseFailure)
            else super().repr_failure(excinfo)
        )

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where a test stands: in the bundle."""
        return self.parent.path, None, visible(self.case)


class CaseFailure(Exception):
    """A case whose verdict is bad."""
