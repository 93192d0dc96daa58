"""Memory that does not grow with the suite, and workers that come to grief."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing import active_children, get_context
from pathlib import Path
from tempfile import TemporaryFile

import pytest

import opgen
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.write.output import partial
from opgen.generation import engine, forked
from opgen.model import FileError
from tests.support.limits import largest_file

STEP = 1 << 14
"""So few elements at a time that a small suite is many pieces of work."""
MEASURE = """
import resource, sys
from opgen.generation import engine
from tests.bench._calls import mixed
from tests.bench.suite import enumerated

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

engine.write(enumerated(mixed(40)), sys.argv[1], {}, force=True)
before = peak()
engine.write(enumerated(mixed(int(sys.argv[2]), 20)), sys.argv[1], {}, force=True)
print(peak() - before)
"""


def peak(path: Path, cases: int) -> float:
    """Megabytes of memory that a suite takes beyond those of a small one."""
    root = str(Path(opgen.__file__).parents[1])
    command = [sys.executable, "-c", MEASURE, str(path), str(cases)]
    found = subprocess.run(
        command,
        cwd=root,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(found.stdout)


def test_thirty_thousand_cases_take_little_memory(tmp_path: Path) -> None:
    assert peak(tmp_path / "many.h5", 30_000) < 300
    assert (tmp_path / "many.h5").stat().st_size > 300e6


def test_memory_is_that_of_the_tables_not_of_the_data(tmp_path: Path) -> None:
    assert peak(tmp_path / "some.h5", 6_000) < 60
    assert (tmp_path / "some.h5").stat().st_size > 60e6


def test_what_a_worker_raises_is_raised_here_and_no_worker_stays(
    small_suite: engine.Suite, tmp_path: Path
) -> None:
    batches = small_suite.batches.copy()
    batches[150] = replace(batches[150], names={})  # nobody can compute this
    with pytest.raises(FileError, match=r"^opgen/golden/\w+\.py:\d+: depth: raised KeyError: "):
        engine.write(
            replace(small_suite, batches=batches), tmp_path / "suite.h5", {}, workers=2, chunk=STEP
        )
    assert active_children() == []
    assert not (tmp_path / "suite.h5").exists()


def test_data_that_find_no_room_are_one_message(small_suite: engine.Suite, tmp_path: Path) -> None:
    """The file that was begun has room; not all file systems keep it."""
    for workers in (1, 2):
        with (
            ExitStack() as limits,
            pytest.raises(
                BundleError, match=r"suite\.h5(\.partial)?: cannot write: File too large$"
            ),
        ):
            engine.write(
                small_suite,
                tmp_path / "suite.h5",
                {},
                workers=workers,
                chunk=STEP,
                progress=lambda _: limits.enter_context(largest_file(1 << 12)),
            )
    assert os.listdir(tmp_path) == []


def test_a_worker_whose_writer_is_gone_before_it_begins_ends() -> None:
    """Killed between the two, a writer leaves a worker with another parent, that would hold its
    files for ever.
    """

    def orphan() -> None:
        here, there = get_context("fork").Pipe(duplex=False)
        with TemporaryFile() as shared, TemporaryFile() as file:
            forked.serve(there, file, time.sleep, [60], shared.fileno(), os.getpid())
        here.close()

    worker = get_context("fork").Process(target=orphan)
    worker.start()
    worker.join(30)
    assert worker.exitcode == forked.ORPHANED


def test_a_worker_that_is_killed_is_one_message(small_suite: engine.Suite, tmp_path: Path) -> None:
    def killing(cases: int) -> None:
        for worker in active_children():
            assert worker.pid
            os.kill(worker.pid, signal.SIGKILL)

    with pytest.raises(
        BundleError,
        match="a worker process was killed, perhaps for lack of memory; try fewer --workers",
    ):
        engine.write(
            small_suite, tmp_path / "suite.h5", {}, workers=2, chunk=STEP, progress=killing
        )
    assert active_children() == []
    engine.write(small_suite, tmp_path / "other.h5", {})
    if partial(tmp_path / "suite.h5").exists():
        engine.write(small_suite, tmp_path / "suite.h5", {}, workers=2, resume=True)
        assert (tmp_path / "suite.h5").read_bytes() == (tmp_path / "other.h5").read_bytes()
