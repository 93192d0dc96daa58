"""Fixtures of several modules."""

from __future__ import annotations

import signal
from collections.abc import Generator

import pytest

from opgen.computation import engine
from opgen.suites.suite import Suite

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def small_suite() -> Suite:
    """200 small legal calls of all operators, each with a shape of its own."""
    from tests.bench._calls import mixed
    from tests.bench.suite import enumerated

    return enumerated(mixed(200))


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few elements at a time that a small suite is many pieces of work."""
    monkeypatch.setattr(engine, "TOGETHER", 1 << 14)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file of tests that cannot be imported is an error. As a file of doctests it would be skipped, and its tests with it."""
    report = yield
    if report.skipped and "unable to import module" in str(report.longrepr) and collector.path.match("test_*.py"):
        report.outcome = "failed"
    return report
