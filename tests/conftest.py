"""Fixtures of several modules."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path

import pytest

from opgen.suite.suite import Suite
from tests.support import enumerations

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # as a shell starts what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.set_threshold(50_000, 20, 20)
"""What tests share stays for long, and to look through it for garbage takes time."""

os.environ.pop(
    "COLUMNS", None
)  # which pytest-xdist sets: what a command prints does not depend on it


if "PYTEST_XDIST_WORKER" not in os.environ:  # whose workers have the environment of this process
    cache = tempfile.TemporaryDirectory(prefix="opgen-tests-cache-")
    atexit.register(cache.cleanup)
    os.environ["XDG_CACHE_HOME"] = cache.name  # nothing was checked by tests that ran before
    shared = tempfile.TemporaryDirectory(prefix="opgen-tests-enumerated-")
    atexit.register(shared.cleanup)
    os.environ[enumerations.FOLDER] = shared.name
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes need what one compiled
    sys.dont_write_bytecode = False


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


@pytest.fixture(scope="module", autouse=True)
def enumerated_once(request: pytest.FixtureRequest) -> Generator[None]:
    """What a run has enumerated once is not enumerated again, but by the tests of enumerating: see
    :func:`tests.support.enumerations.enumerated_once`.
    """
    of_enumerating = request.path.parent.name == "suite" or hasattr(request.module, "ENUMERATES")
    with nullcontext() if of_enumerating else enumerations.enumerated_once():
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests come first, so that no process waits for another at the end: those of whole
    sessions, which are in no folder of a package.
    """
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)


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
