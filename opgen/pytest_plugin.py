"""A test per case of a bundle, for people who keep their checks in pytest.

``pytest --opgen-bundle suite.h5 --opgen-results results.h5`` judges a results file,
``--opgen-backend torch`` runs the cases first. A test fails where the verdict is failed, crashed or
missing; lenient cases and known deviations are expected failures (failures under
``--opgen-strict``), as are those that ``--opgen-waivers FILE`` names; inconclusive and skipped ones
are skipped, all with the reason.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from opgen.comparison.diff_report import DiffReport
    from opgen.comparison.waivers import Waiver

_REPORT: pytest.StashKey[DiffReport] = pytest.StashKey()
_WAIVERS: pytest.StashKey[list[Waiver]] = pytest.StashKey()
_NOTES: pytest.StashKey[dict[str, None]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, in a group of their own."""
    from opgen.model import TRUTHS

    group = parser.getgroup("opgen", "test vectors for NPU operators")
    group.addoption("--opgen-bundle", metavar="FILE", help="a test for each case of this bundle")
    group.addoption("--opgen-results", metavar="FILE", help="what the device answered")
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
        "--opgen-strict", action="store_true", help="lenient cases and known deviations fail"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a test per case, before ``-k`` and marks choose among them."""
    path = config.getoption("--opgen-bundle")
    if not path:
        if any(config.getoption(f"--opgen-{name}") for name in ("results", "backend", "waivers")):
            raise pytest.UsageError(
                "--opgen-results, --opgen-backend and --opgen-waivers need --opgen-bundle FILE"
            )
        return
    if bool(config.getoption("--opgen-results")) == bool(config.getoption("--opgen-backend")):
        raise pytest.UsageError(
            "--opgen-bundle needs either --opgen-results FILE or --opgen-backend NAME"
        )
    config.stash[_WAIVERS] = _waivers(config)
    items.extend(
        BundleFile.from_parent(
            session, name=Path(path).name, nodeid=Path(path).name, path=Path(path)
        ).collect()
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What there is to say of the whole comparison, such as a waiver that has expired; a worker of
    xdist tells its controller.
    """
    stash = session.config.stash
    notes = dict.fromkeys(stash[_REPORT].notes if _REPORT in stash else ())
    stash.setdefault(_NOTES, {}).update(notes)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["opgen_notes"] = list(notes)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker of xdist is done."""
    node.config.stash.setdefault(_NOTES, {}).update(
        dict.fromkeys(getattr(node, "workeroutput", {}).get("opgen_notes", ()))
    )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Says it."""
    if config.stash.get(_NOTES, {}):
        terminalreporter.section("opgen")
        for note in config.stash[_NOTES]:
            terminalreporter.write_line(note)


class BundleFile(pytest.Collector):
    """A bundle as pytest sees it."""

    def __init__(self, *, path: Path, **rest: Any) -> None:
        super().__init__(**rest)
        self.bundle = path

    def collect(self) -> Iterator[CaseItem]:
        """An item per case; a bundle that cannot be read is an error of usage."""
        import opgen

        try:
            with opgen.open(self.bundle) as bundle:
                ids = bundle.ids
        except opgen.BundleError as error:
            raise pytest.UsageError(str(error)) from None
        return (CaseItem.from_parent(self, name=f"[{name}]", case=name) for name in ids)

    def report(self) -> DiffReport:
        """The verdicts of all cases, computed when the first is asked for."""
        stash = self.config.stash
        if _REPORT not in stash:
            stash[_REPORT] = _report(self.config, self.bundle)
        return stash[_REPORT]


class CaseItem(pytest.Item):
    """One case."""

    def __init__(self, *, case: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case

    def runtest(self) -> None:
        from opgen.comparison.statuses import KNOWN, LENIENT, PASSED

        parent = self.parent
        assert isinstance(parent, BundleFile)
        report = parent.report()
        verdict = report[self.case]
        self.user_properties.append(("verdict", verdict.verdict))
        said = f"{verdict.verdict}: {verdict.detail}" if verdict.detail else verdict.verdict
        if self.case in report.waived:
            pytest.xfail(f"waived, {report.waived[self.case]}: {said}")
        if report.fails(verdict, self.config.getoption("--opgen-strict")):
            raise CaseFailure(f"{self.case}\n{said}")
        if verdict.verdict in (LENIENT, KNOWN):
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
        parent = self.parent
        assert isinstance(parent, BundleFile)
        return parent.bundle, None, self.case


class CaseFailure(Exception):
    """A case whose verdict is bad."""


def _waivers(config: pytest.Config) -> list[Waiver]:
    from opgen.comparison import waivers
    from opgen.model import FileError

    path = config.getoption("--opgen-waivers")
    try:
        return waivers.read(path) if path else []
    except FileError as error:
        raise pytest.UsageError(str(error)) from None


def _report(config: pytest.Config, path: Path) -> DiffReport:
    import opgen
    from opgen.comparison import waivers
    from opgen.model import FileError

    try:
        report = _compared(config, path)
        waivers.apply(report, config.stash[_WAIVERS], datetime.date.today())
        return report
    except (opgen.BundleError, FileError) as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)


def _compared(config: pytest.Config, path: Path) -> DiffReport:
    import opgen

    truth = config.getoption("--opgen-truth")
    results = config.getoption("--opgen-results")
    if results:
        report: DiffReport = opgen.diff(path, results, truth=truth)
    else:
        from opgen.devices import backend
        from opgen.devices.running import run

        with tempfile.TemporaryDirectory(prefix="opgen-") as folder, opgen.open(path) as bundle:
            answers = Path(folder) / "results.h5"
            name, device = map(config.getoption, ("--opgen-backend", "--opgen-device"))
            run(bundle, backend(name, device=device), answers)
            report = opgen.diff(bundle, answers, truth=truth)
    return report
