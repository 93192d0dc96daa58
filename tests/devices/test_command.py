"""Devices behind a command: opgen's runner, and runners that do what runners do."""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import opgen
from opgen.comparison.diff_report import DiffReport
from opgen.devices import DeviceError, DeviceLost, runner
from opgen.devices.plugins import CodeError
from opgen.devices.runner_process import Ended, Runner
from opgen.devices.running import run
from tests.support import device_sample

RUNNER = Path(runner.__file__)
RIGHT = """
import os, time
import numpy as np

FACTS = {"board": "a made-up one"}

def call(call, storage, outputs):
    print("a line that is no frame")
    args = call["args"]
    if not storage:
        return {"status": 161002}
    shape = args["gradOutput"]["shape"]
    gradient = storage["gradOutput"].reshape(shape)
    left, right, top, bottom = args["padding"]
    wanted = args["gradInput"]["shape"]
    sums = np.zeros(wanted)
    for y in range(shape[-2]):
        for x in range(shape[-1]):
            down, across = fold(y - top, wanted[-2]), fold(x - left, wanted[-1])
            sums[..., down, across] += gradient[..., y, x]
    return {"status": 0, "run_status": 0, "outputs": {"gradInput": sums}}

def fold(at, extent):
    return -at if at < 0 else 2 * extent - 2 - at if at >= extent else at
"""
CALLS = {
    **{f"pad{i}": device_sample.pad(padding=(1, i % 3, 2, 1)) for i in range(30)},
    "half": device_sample.pad("FLOAT16"),
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return device_sample.write(tmp_path_factory.mktemp("suite") / "suite.h5", CALLS)


def started(folder: Path, device: str) -> str:
    """The command that runs a device."""
    (folder / "my_device.py").write_text(device, encoding="utf-8")
    return "cmd:" + shlex.join(
        ["env", f"PYTHONPATH={folder}", sys.executable, str(RUNNER), "my_device"]
    )


def judged(suite: Path, folder: Path, device: str, **options: float) -> DiffReport:
    path = folder / "results.h5"
    again = {"force": True, **options}
    run(suite, started(folder, device), path, **again)  # type: ignore[arg-type]
    return opgen.diff(suite, path)


def counts(report: DiffReport) -> dict[str, int]:
    return dict(Counter(found.verdict for found in report))


def test_a_board_that_is_right_passes(suite: Path, tmp_path: Path) -> None:
    report = judged(suite, tmp_path, RIGHT)
    assert counts(report) == {"passed": len(CALLS)}
    assert report.origin["device"]["runner"] == {"board": "a made-up one"}


def test_a_board_that_is_wrong_fails(suite: Path, tmp_path: Path) -> None:
    report = judged(suite, tmp_path, RIGHT.replace("2 * extent - 2", "2 * extent - 1"))
    assert counts(report)["failed"] > 20


def test_what_ends_the_runner_is_a_crash_and_the_others_are_answered(
    suite: Path, tmp_path: Path
) -> None:
    dies = "    if call['id'] == 'pad7':\n        os.abort()\n    args = call"
    report = judged(suite, tmp_path, RIGHT.replace("    args = call", dies, 1))
    assert counts(report) == {"passed": len(CALLS) - 1, "crashed": 1}
    assert "by signal 6" in report["pad7"].detail


def test_what_hangs_is_a_timeout(suite: Path, tmp_path: Path) -> None:
    hangs = "    if call['id'] == 'pad7':\n        time.sleep(60)\n    args = call"
    report = judged(suite, tmp_path, RIGHT.replace("    args = call", hangs, 1), timeout=1.0)
    assert counts(report) == {"passed": len(CALLS) - 1, "crashed": 1}
    assert "timeout" in report["pad7"].detail


def test_an_exception_is_no_crash(suite: Path, tmp_path: Path) -> None:
    raises = "    if call['id'] == 'pad7':\n        raise OSError('no memory')\n    args = call"
    report = judged(suite, tmp_path, RIGHT.replace("    args = call", raises, 1))
    assert counts(report) == {"passed": len(CALLS) - 1, "failed": 1}
    assert "OSError: no memory" in report["pad7"].detail


def test_five_exceptions_in_a_row_are_no_lost_device_if_a_valid_case_is_answered(
    suite: Path, tmp_path: Path
) -> None:
    """While the valid case is asked, no other waits at the runner."""
    raises = "    if 'pad3' <= call['id'] <= 'pad8':\n        raise OSError\n    args = call"
    report = judged(suite, tmp_path, RIGHT.replace("    args = call", raises, 1))
    failed = sum("pad3" <= name <= "pad8" for name in CALLS)
    assert failed > 5
    assert counts(report) == {"passed": len(CALLS) - failed, "failed": failed}


@pytest.mark.parametrize(
    ("begin", "told"),
    [
        ("nothing", "NameError: name 'nothing' is not defined (my_device.py:8)"),
        ("return fold", "TypeError: call returned <function fold at "),
        ("return", "TypeError: call returned None; it returns a dict: {"),
        ("np.zeros(call['args']['paddings'])", "KeyError: 'paddings' (my_device.py:8)"),
        ("fold(0, '1')", "'int' and 'str' (my_device.py:25, my_device.py:8)"),
    ],
)
def test_a_board_that_raises_at_every_case_is_not_called_lost(
    suite: Path, tmp_path: Path, begin: str, told: str
) -> None:
    text = RIGHT.replace("    print(", f"    {begin}\n    print(", 1)
    with pytest.raises(CodeError) as raised:
        judged(suite, tmp_path, text)
    (problem,) = raised.value.problems
    assert problem.text.startswith("the code of the device fails, also at pad5, a valid call: ")
    assert told in problem.text
    with opgen.Results.create(tmp_path / "results.h5", suite, resume=True) as kept:
        assert len(kept) == 0, "a corrected board is asked for all of them again"


def test_numbers_of_numpy_are_numbers(suite: Path, tmp_path: Path) -> None:
    text = RIGHT.replace(
        'return {"status": 0, "run_status": 0,',
        'return {"status": np.int64(0), "run_status": np.uint8(0), "time": np.float32(0.5),'
        ' "unwritten": {"gradInput": np.int32(0)},',
    ).replace('"a made-up one"', "np.float64(1.5)")
    assert text.count("np.int64") == 1
    report = judged(suite, tmp_path, text)
    assert counts(report) == {"passed": len(CALLS)}
    assert report.origin["device"]["runner"] == {"board": 1.5}
    with opgen.Results.open(tmp_path / "results.h5") as results:
        assert {(each.time, each.unwritten["gradInput"]) for each in results} == {(0.5, 0)}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('"error": ValueError("x")', "ValueError('x') is neither a number nor a text"),
        ('"outputs": {"gradInput": np.array([None])}', "gradInput holds objects of Python"),
        ('"outputs": {"gradInput": [[0], [0, 0]]}', "ValueError: setting an array element"),
        ('"outputs": [0]', "AttributeError: 'list' object has no attribute 'items'"),
        ('"outputs": {"gradInputs": 0.0}', "'gradInputs' is not an output of the call"),
        ('"outputs": {"gradInput": "a text"}', "no file keeps it"),
        ('"time": -1', "time -1 is not a possible time"),
    ],
)
def test_what_cannot_be_sent_or_kept_is_unusable_and_the_others_are_answered(
    suite: Path, tmp_path: Path, given: str, told: str
) -> None:
    gives = (
        f"    if call['id'] == 'pad7':\n        return {{'status': 0, {given}}}\n    args = call"
    )
    report = judged(suite, tmp_path, RIGHT.replace("    args = call", gives, 1))
    assert counts(report) == {"passed": len(CALLS) - 1, "failed": 1}
    assert told in report["pad7"].detail
    assert "in the first phase" not in report["pad7"].detail, "it accepted the call"


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("import numpy as np\n\nnp.zeros(3)[5]\n", "with size 3 (my_device.py:3)"),
        ("def call(x:\n", "SyntaxError: '(' was never closed (my_device.py, line 1)"),
        ("FACTS = {}\n", "AttributeError: module 'my_device' has no attribute 'call'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told_with_its_line(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DeviceError) as refused:
        judged(suite, tmp_path, module)
    assert str(refused.value).endswith(told)


def test_a_module_may_be_named_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "my_device.py").write_text("FACTS = {'soc': 'of my_device.py'}\ncall = None\n")
    command = [sys.executable, str(RUNNER), "my_device.py"]
    done = subprocess.run(command, cwd=tmp_path, input=b"", capture_output=True, check=True)
    assert b"of my_device.py" in done.stdout


def test_a_runner_without_a_module_says_how_it_is_used() -> None:
    done = subprocess.run([sys.executable, str(RUNNER)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: python3 runner.py MODULE")


def test_bfloat16_travels_as_its_bits(tmp_path: Path) -> None:
    """A mean of four, of numbers that leave room for it."""
    path = device_sample.write(tmp_path / "pool.h5", {"pool": device_sample.pool("BFLOAT16")})
    device = """
import numpy as np

def call(call, storage, outputs):
    bits = storage["gradOutput"]
    assert bits.dtype == np.uint16
    wide = (bits.astype(np.uint32) << 16).view(np.float32).reshape(2, 3, 3, 3) / 4
    bits = (wide.repeat(2, -1).repeat(2, -2).view(np.uint32) >> 16).astype(np.uint16)
    return {"status": 0, "run_status": 0, "outputs": {"gradInput": bits}}
"""
    assert counts(judged(path, tmp_path, device)) == {"passed": 1}


KILLS = 100 if os.environ.get("OPGEN_SLOW") == "1" else 5


def runners() -> list[int]:
    """The processes of runners that this one has started."""
    mine = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = process.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid() and b"runner.py" in (process / "cmdline").read_bytes():
                mine.append(int(process.name))
    return mine


def test_a_runner_that_is_killed_costs_no_answer(suite: Path, tmp_path: Path) -> None:
    """At random moments, by somebody who has nothing to do with the cases."""
    slow = RIGHT.replace("    args = call", "    time.sleep(0.02)\n    args = call", 1)
    kills = 0

    def kill() -> None:
        nonlocal kills
        seed = random.Random(1)
        while kills < KILLS:
            time.sleep(seed.uniform(0.2, 1.0))
            for process in runners():
                os.kill(process, signal.SIGKILL)
                kills += 1

    killer, again = Thread(target=kill, daemon=True), False
    killer.start()
    while killer.is_alive() or again:
        try:
            report = judged(suite, tmp_path, slow, resume=again)
        except DeviceLost:  # killed three times before it was there
            again = True
        except DeviceError:  # before it was there the first time
            again = False
        else:
            assert counts(report) == {"passed": len(CALLS)}
            again = False
    assert kills >= KILLS


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("cmd", "needs a command, as in --backend 'cmd:"),
        ("cmd:'", "cannot split the command"),
        ("cmd:/nowhere/runner", "cannot be started: No such file"),
        ("cmd:false", "the runner ended with exit code 1"),
        ("cmd:true", "the runner ended with exit code 0"),
        ("cmd:sh -c 'echo no card >&2; exit 3'", "the runner ended with exit code 3: no card"),
        (
            "cmd:echo Welcome to the board",
            "the runner wrote something that is not a frame: not a frame of this",
        ),
    ],
)
def test_a_command_that_is_no_runner(suite: Path, tmp_path: Path, asked: str, message: str) -> None:
    with pytest.raises(DeviceError) as refused:
        run(suite, asked, tmp_path / "results.h5")
    assert message in str(refused.value)
    assert not (tmp_path / "results.h5").exists()


FRAMES = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
from runner import read_frame, write_frame
out, came = sys.stdout.buffer, sys.stdin.buffer
once = Path({once!r})
if {again} and once.exists():
    sys.exit("gone")
once.touch()
write_frame(out, {{"in_flight": 3}})
while (frame := read_frame(came)) is not None:
    write_frame(out, {{"case": {answered}, "status": 0, "run_status": 0}})
    {then}
"""


def frames(folder: Path, answered: str, then: str = "pass", again: bool = False) -> str:
    """The command of a runner of our own."""
    text = FRAMES.format(
        folder=str(RUNNER.parent),
        once=str(folder / "once"),
        again=again,
        answered=answered,
        then=then,
    )
    (folder / "frames.py").write_text(text, encoding="utf-8")
    return "cmd:" + shlex.join([sys.executable, str(folder / "frames.py")])


def test_a_runner_that_answers_another_case_is_not_believed(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(DeviceLost, match="the runner answered 'mine'; it takes cases in order"):
        run(suite, frames(tmp_path, "'mine'"), tmp_path / "results.h5")


def test_a_runner_that_does_not_come_up_again_is_lost(suite: Path, tmp_path: Path) -> None:
    made = frames(tmp_path, "frame[0]['case']", "sys.exit(1)", again=True)
    with pytest.raises(DeviceLost, match="the runner ended with exit code 1: gone"):
        run(suite, made, tmp_path / "results.h5")
    with opgen.Results.create(tmp_path / "results.h5", suite, resume=True) as kept:
        assert [case for case in CALLS if case in kept] == ["pad0"]


def test_an_answer_without_outputs_fails(suite: Path, tmp_path: Path) -> None:
    run(suite, frames(tmp_path, "frame[0]['case']"), tmp_path / "results.h5")
    assert counts(opgen.diff(suite, tmp_path / "results.h5")) == {"failed": len(CALLS)}


ECHO = """
import sys
sys.path.insert(0, {folder!r})
from runner import read_frame, write_frame
out, came = sys.stdout.buffer, sys.stdin.buffer
write_frame(out, {{"in_flight": 8}})
while (frame := read_frame(came)) is not None:
    print("many words " * 20_000, file=sys.stderr)
    {first}
    write_frame(out, {{"case": frame[0]["case"]}}, frame[1])
"""


def echo(first: str = "pass") -> Runner:
    return Runner([sys.executable, "-c", ECHO.format(folder=str(RUNNER.parent), first=first)])


def test_requests_answers_and_words_that_no_pipe_holds_pass_each_other() -> None:
    told = echo()
    arrays = [np.arange(500_000) + i for i in range(8)]
    for i, array in enumerate(arrays):
        told.ask([({"case": i}, {"x": array})])
    for i, array in enumerate(arrays):
        head, came = told.answer(60)
        assert head["case"] == i
        assert np.array_equal(came["x"], array)
    told.stop()


def test_a_runner_that_reads_no_more_is_given_up_in_time() -> None:
    told = echo("import time; time.sleep(600)")
    for i in range(8):
        told.ask([({"case": i}, {"x": np.zeros(500_000)})])
    with pytest.raises(Ended, match="no answer in 1 s") as end:
        told.answer(1.0)
    assert end.value.word == "timeout"
    told.stop()


def test_what_a_runner_does_not_read_yet_fills_no_memory() -> None:
    """One large case may wait beside those that the pipe holds, and no second one."""
    told = echo("import time; time.sleep(600)")
    assert told.takes(8)
    assert not told.takes(0)
    told.ask([({"case": 0}, {"x": np.zeros(500_000)})])
    assert not told.takes(7)
    told.stop()


def test_a_search_starts_its_runner_once(suite: Path, tmp_path: Path) -> None:
    """However many bundles it runs; and the runner has ended when the search has."""
    starts = tmp_path / "starts"
    wrong = RIGHT.replace("2 * extent - 2", "2 * extent - 1")
    command = started(tmp_path, f"open({str(starts)!r}, 'a').write('x')\n{wrong}")
    run(suite, command, tmp_path / "results.h5")
    minimal = opgen.minimize(suite, tmp_path / "results.h5", "pad*", command)
    assert minimal.ran > 5
    assert starts.read_text() == "xx"
    assert not runners()
