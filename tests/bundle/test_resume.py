"""A writer that is killed at any moment leaves the old file or something to go on from, and nothing
that reads as good.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import numpy as np
import pytest

import opgen
from opgen.bundle.format.dtypes import BundleError
from opgen.bundle.read.verify import verify
from opgen.bundle.write import output
from opgen.bundle.write.output import partial
from opgen.bundle.write.writer import Writer
from opgen.generation import engine
from opgen.spec.catalog import catalog
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan import plan_for
from opgen.suite.suite import Suite
from tests.bundle.test_ledger import entry
from tests.support import unmeasured
from tests.support.limits import largest_file
from tests.support.suites import SLOW

KILLS = 100 if SLOW else 30
HEADER = {"seed": 5}


@pytest.fixture(scope="module")
def suite() -> Suite:
    return plan_suite(
        [(spec, plan_for(spec.op)) for spec in catalog().specs if spec.op == "avg_pool2d_backward"],
        "standard",
    )


@pytest.fixture(scope="module")
def expected(suite: Suite, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "whole.h5"
    write(suite, path, HEADER, seed=5)
    return path.read_bytes()


def write(suite: Suite, path: Path, header: dict[str, Any], **options: Any) -> None:
    """In many small steps."""
    engine.write(suite, path, header, chunk=1 << 12, **options)


def stopped(suite: Suite, path: Path, after: int, **options: object) -> Path:
    """A partial file that holds at least ``after`` cases with data."""
    rest = sum(case.phase == 1 for case in suite.cases) + after

    def enough(cases: int) -> None:
        nonlocal rest
        rest -= cases
        if rest <= 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(suite, path, HEADER, seed=5, progress=enough, **options)
    return partial(path)


def let_go(path: Path) -> None:
    """Wait until nobody holds a partial file any more: workers of a killed writer notice that they
    are alone.
    """
    until = time.monotonic() + 60
    with open(partial(path), "rb") as file:
        while time.monotonic() < until:
            with suppress(BlockingIOError):
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            time.sleep(0.02)
    pytest.fail("a worker outlives its writer")


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_any_moment(suite: Suite, expected: bytes, tmp_path: Path, workers: int) -> None:
    path, draw, went_on, kills = tmp_path / "suite.h5", Random(workers), 0, 0
    longest = 0.2  # grows and shrinks until kills hit the writing
    path.write_bytes(b"the old file")
    while kills < KILLS // workers or not (went_on or kills > 100):
        child = get_context("fork").Process(
            target=write,
            args=(suite, path, HEADER),
            kwargs={"seed": 5, "workers": workers, "resume": True, "force": True},
        )
        child.start()
        time.sleep(draw.uniform(0, longest))
        assert child.pid
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        kills += 1
        if path.read_bytes() != b"the old file":
            assert path.read_bytes() == expected
            path.write_bytes(b"the old file")
            longest *= 0.8
        elif not partial(path).exists():
            longest *= 1.25
        if partial(path).exists():
            went_on += 1
            if (
                partial(path).read_bytes() != expected
            ):  # else it died with everything done but the name
                with pytest.raises(BundleError):
                    opgen.open(partial(path))
                assert verify(partial(path))
            let_go(path)
    write(suite, path, HEADER, seed=5, resume=True, force=True)
    assert path.read_bytes() == expected
    assert went_on
    assert os.listdir(tmp_path) == ["suite.h5"]


def test_what_is_there_is_not_computed_again(suite: Suite, expected: bytes, tmp_path: Path) -> None:
    left = stopped(suite, tmp_path / "suite.h5", 40)
    assert not (tmp_path / "suite.h5").exists()
    told: list[int] = []
    write(suite, tmp_path / "suite.h5", HEADER, seed=5, resume=True, progress=told.append)
    assert told[0] >= 40 + sum(case.phase == 1 for case in suite.cases)
    assert sum(told) == len(suite.cases)
    assert (tmp_path / "suite.h5").read_bytes() == expected
    assert not left.exists()


def test_damaged_data_are_computed_again(suite: Suite, expected: bytes, tmp_path: Path) -> None:
    (tmp_path / "whole.h5").write_bytes(expected)
    with opgen.open(tmp_path / "whole.h5") as whole:
        rows = [row for case in whole for row in case.tensor_rows if row.has_data and row.elements]
        spans = [whole.place(row.dtype, row.elements, row.position) for row in rows]
        first_phase = sum(case.phase == 1 for case in whole)
    left = stopped(suite, tmp_path / "suite.h5", 40)
    content, draw = bytearray(left.read_bytes()), Random(0)
    for start, size in spans[::5]:
        content[start + draw.randrange(size)] ^= 1 << draw.randrange(8)
    left.write_bytes(content)
    told: list[int] = []
    write(suite, tmp_path / "suite.h5", HEADER, seed=5, resume=True, progress=told.append)
    assert (tmp_path / "suite.h5").read_bytes() == expected
    assert told[0] > first_phase  # what is not damaged is kept


def test_what_stands_between_tensors_is_zero_again(
    suite: Suite, expected: bytes, tmp_path: Path
) -> None:
    (tmp_path / "whole.h5").write_bytes(expected)
    with opgen.open(tmp_path / "whole.h5") as whole:
        rows = [row for case in whole for row in case.tensor_rows if row.has_data and row.elements]
        spans = [whole.place(row.dtype, row.elements, row.position) for row in rows]
        ends = [start + limit * kind.itemsize for kind, start, limit in whole.blobs.values()]
    held = np.zeros(len(expected), dtype=bool)
    for start, size in spans:
        held[start : start + size] = True
    behind = [start + size for start, size in spans if not held[start + size]]
    between = [place for place in [*behind, *(end - 1 for end in ends)] if not held[place]]
    left = stopped(suite, tmp_path / "suite.h5", 40)
    content = bytearray(left.read_bytes())
    assert len(between) > 100 and not any(content[place] for place in between)
    for place in between:
        content[place] = 7
    left.write_bytes(content)
    write(suite, tmp_path / "suite.h5", HEADER, seed=5, resume=True)
    assert (tmp_path / "suite.h5").read_bytes() == expected


STRANGE = {
    "symbolic link": lambda name, other: name.symlink_to(other),
    "hard link": lambda name, other: name.hardlink_to(other),
    "file of another program": lambda name, other: name.write_bytes(other.read_bytes()),
}


@pytest.mark.parametrize("way", STRANGE)
@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        (".partial", {}),
        (".partial", {"resume": True}),
        (".partial", {"force": True}),
        (".partial.fresh", {"resume": True}),
        (".partial.fresh", {"resume": True, "force": True}),
    ],
)
def test_only_what_opgen_left_behind_is_gone_on_from(
    suite: Suite, expected: bytes, tmp_path: Path, way: str, options: Any, suffix: str
) -> None:
    """What lies at the name of a working file is kept, and so is what a link there leads to."""
    path, other = tmp_path / "suite.h5", tmp_path / "other"
    if suffix == ".partial.fresh":
        stopped(suite, path, 40)
    other.write_bytes(b"somebody's" * 1000)
    place = path.with_name(path.name + suffix)
    STRANGE[way](place, other)
    if "force" in options:
        write(suite, path, HEADER, seed=5, **options)
        assert path.read_bytes() == expected and not os.path.lexists(place)
    else:
        with pytest.raises(
            BundleError, match="opgen did not make it, .*; move it away, or --force"
        ):
            write(suite, path, HEADER, seed=5, **options)
        assert os.path.lexists(place) and not path.exists()
    assert other.read_bytes() == b"somebody's" * 1000


def test_a_file_that_opgen_left_behind_and_somebody_linked_is_kept(
    suite: Suite, expected: bytes, tmp_path: Path
) -> None:
    path, other = tmp_path / "suite.h5", tmp_path / "other"
    left = stopped(suite, path, 40)
    other.hardlink_to(left)
    before = other.read_bytes()
    with pytest.raises(BundleError, match="suite.h5.partial: is a link, or opgen did not make it"):
        write(suite, path, HEADER, seed=5, resume=True)
    other.unlink()
    assert left.read_bytes() == before
    write(suite, path, HEADER, seed=5, resume=True)
    assert path.read_bytes() == expected


def test_the_answers_of_a_run_are_not_kept_in_a_link(suite: Suite, tmp_path: Path) -> None:
    write(suite, tmp_path / "suite.h5", HEADER, seed=5)
    path, other = tmp_path / "r.h5", tmp_path / "other"
    for suffix in (".partial", ".partial.fresh"):
        for link in (Path.symlink_to, Path.hardlink_to):
            other.write_bytes(b"somebody's")
            place = path.with_name(path.name + suffix)
            link(place, other)
            with pytest.raises(BundleError, match=f"r.h5{suffix}: is a link, or"):
                opgen.Results.create(path, tmp_path / "suite.h5").close()
            opgen.Results.create(path, tmp_path / "suite.h5", force=True).close()
            assert path.is_file() and other.read_bytes() == b"somebody's"
            for name in (path, other, path.with_name("r.h5.partial")):
                name.unlink(missing_ok=True)


def test_a_link_may_be_the_final_output(suite: Suite, expected: bytes, tmp_path: Path) -> None:
    (tmp_path / "suite.h5").symlink_to(tmp_path / "nowhere")
    write(suite, tmp_path / "suite.h5", HEADER, seed=5)
    assert (tmp_path / "suite.h5").read_bytes() == expected


@pytest.mark.parametrize(
    "content", [b"", b"opgen bundle", bytes(5000)], ids=["empty", "torn", "zeros"]
)
def test_nothing_to_go_on_from_is_a_new_beginning(
    suite: Suite, expected: bytes, tmp_path: Path, content: bytes
) -> None:
    partial(tmp_path / "suite.h5").write_bytes(content)
    write(suite, tmp_path / "suite.h5", HEADER, seed=5, resume=True)
    assert (tmp_path / "suite.h5").read_bytes() == expected


def test_another_request_is_refused_and_leaves_the_file(suite: Suite, tmp_path: Path) -> None:
    left = stopped(suite, tmp_path / "suite.h5", 40)
    before = left.read_bytes()
    with pytest.raises(BundleError, match="was started for another suite .*--resume"):
        write(suite, tmp_path / "suite.h5", {"seed": 6}, seed=6, resume=True)
    with pytest.raises(BundleError, match="was started for another suite"):
        write(suite.subset(range(3)), tmp_path / "suite.h5", HEADER, seed=5, resume=True)
    assert left.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [left.name]


def test_resuming_without_room_leaves_what_was_there(
    suite: Suite, expected: bytes, tmp_path: Path
) -> None:
    left = stopped(suite, tmp_path / "suite.h5", 40)
    before = left.read_bytes()

    with (
        largest_file(1 << 10),
        pytest.raises(BundleError, match="suite.h5: cannot write: File too large$"),
    ):
        write(suite, tmp_path / "suite.h5", HEADER, seed=5, resume=True)
    assert left.read_bytes() == before and os.listdir(tmp_path) == [left.name]
    write(suite, tmp_path / "suite.h5", HEADER, seed=5, resume=True)
    assert (tmp_path / "suite.h5").read_bytes() == expected


def test_without_resume_a_partial_file_is_written_anew(
    suite: Suite, expected: bytes, tmp_path: Path
) -> None:
    stopped(suite, tmp_path / "suite.h5", 40)
    write(suite, tmp_path / "suite.h5", HEADER, seed=5)
    assert (tmp_path / "suite.h5").read_bytes() == expected


def after_ctrl_c(folder: Path, workers: str) -> tuple[subprocess.Popen[str], str, float]:
    """A command that was interrupted while it wrote, as soon as its file was there; its messages,
    and the seconds that it took to end.
    """
    command = [
        sys.executable,
        "-m",
        "opgen",
        "generate",
        "convolution_backward",
        "--plan",
        "models",  # which takes long to write and not to enumerate
        "--case",
        "*.b1.*",
        "--workers",
        workers,
        "-o",
        "pool.h5",
    ]
    # Unmeasured: an interrupt that strikes inside coverage leaves its lock shut, and the command
    # hangs.
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**unmeasured.ENVIRONMENT, "PYTHONPATH": str(Path(opgen.__file__).parents[1])},
    )
    while not (folder / "pool.h5.partial").exists() and process.poll() is None:
        time.sleep(0.01)
    begin = time.monotonic()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    _, messages = process.communicate(timeout=60)
    return process, messages, time.monotonic() - begin


def test_ctrl_c_at_any_line_of_the_beginning_leaves_no_file(suite: Suite, tmp_path: Path) -> None:
    """At each line of the modules that write, one after the other, until none is left."""
    path = tmp_path / "pool.h5"
    folder = str(Path(output.__file__).parent)
    before, left = sys.gettrace(), 0

    def beginning(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(folder):
            return None
        left -= event == "line"
        if event == "line" and left == 0:
            signal.raise_signal(signal.SIGINT)
        return beginning

    for line in range(1, 2000):
        left = line
        sys.settrace(beginning)
        try:
            writer = Writer(path, {}, suite.cases, engine.layout(suite), keep=True)
        except KeyboardInterrupt:
            assert not partial(path).exists(), line
        else:
            break
        finally:
            sys.settrace(before)
    assert 20 < line < 1999
    writer.abort()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_ends_at_once_and_tells_how_to_go_on(tmp_path: Path, workers: str) -> None:
    for _ in range(5):  # a machine that is busy elsewhere may be done before the signal comes
        process, messages, took = after_ctrl_c(tmp_path, workers)
        assert "ignored" not in messages  # what Python says of an interrupt that nobody got
        if not (tmp_path / "pool.h5").exists():
            break
        (tmp_path / "pool.h5").unlink()
    assert took < 10
    assert process.returncode == 130
    assert messages.splitlines()[-1] == "interrupted"
    assert "--resume continues from it" in messages or not (tmp_path / "pool.h5.partial").exists()
    assert "Traceback" not in messages
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert not (tmp_path / "pool.h5").exists()


def test_a_forged_journal_is_refused(suite: Suite, expected: bytes, tmp_path: Path) -> None:
    """Notes of tensors that there are none of, under digests of their own."""
    path = tmp_path / "suite.h5"
    left = stopped(suite, path, 40)
    whole = left.read_bytes()
    rows = np.array([1 << 40], dtype="<i8").tobytes(), np.array([-1], dtype="<i8").tobytes()
    for facts, data in (
        ({"tensors": 1}, (rows[0], bytes(16))),
        ({"tensors": 1}, (rows[1], bytes(16))),
        ({"tensors": 1}, (bytes(8),)),
        ({"tensors": 1}, (bytes(9), bytes(16))),
        ({"tensors": None}, (bytes(8), bytes(16))),
        ({}, ()),
    ):
        left.write_bytes(whole + entry(facts, *data))
        with pytest.raises(BundleError, match="partial: unsound: its journal lists tensors"):
            write(suite, path, HEADER, seed=5, resume=True)
        assert left.exists() and not path.exists()
    left.write_bytes(whole)
    write(suite, path, HEADER, seed=5, resume=True)
    assert path.read_bytes() == expected
