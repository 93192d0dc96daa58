"""Fixtures of several modules."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Generator, Sequence
from dataclasses import replace

import pytest

from opgen.model import Call
from opgen.spec.spec import Spec
from opgen.suite import suite
from opgen.suite.enumeration.enumerator import Enumeration, enumerate_calls
from opgen.suite.planning.plan import Plan
from opgen.suite.suite import Suite

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # as a shell starts what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop(
    "COLUMNS", None
)  # which pytest-xdist sets: what a command prints does not depend on it


@pytest.fixture(scope="module", autouse=True)
def freed() -> Generator[None]:
    """What a file of tests needs no more goes back to the system. The C library keeps what small
    objects lie behind, gigabytes after many enumerations, and a process that is forked has it, too.
    """
    yield
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


@pytest.fixture(scope="session")
def small_suite() -> Suite:
    """200 small legal calls of all operators, each with a shape of its own."""
    from tests.bench._calls import mixed
    from tests.bench.suite import enumerated

    return enumerated(mixed(200))


@pytest.fixture(scope="module")
def enumerated_once() -> Generator[None]:
    """Pages that come again with the same plan are enumerated once: for tests of what is done with
    suites, in any number of requests.
    """
    kept: dict[tuple[int | str, ...], tuple[Spec, Enumeration]] = {}

    def once(
        spec: Spec, plan: Plan, tier: str, given: Sequence[Call] = (), *rest: int
    ) -> Enumeration:
        if given:
            return enumerate_calls(spec, plan, tier, given, *rest)
        key = id(spec), plan.digest, tier, *rest
        if key not in kept:
            kept[key] = (
                spec,
                enumerate_calls(spec, plan, tier, (), *rest),
            )  # the page stays, so that no other has its id
        drafted = kept[key][1]
        return replace(drafted, report=replace(drafted.report))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite, "enumerate_calls", once)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file of tests that cannot be imported is an error. As a file of doctests it would be
    skipped, and its tests with it.
    """
    report = yield
    if (
        report.skipped
        and "unable to import module" in str(report.longrepr)
        and collector.path.match("test_*.py")
    ):
        report.outcome = "failed"
    return report
