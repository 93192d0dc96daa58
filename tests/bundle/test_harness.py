"""The harness of the manual runs as it stands there, with a device that does everything that
devices do.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import opgen
from opgen.comparison.statuses import Admissible, of_first_phase
from opgen.model import STATUS_WORDS
from tests.support import device_sample

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "opgen" / "bundle" / "HARNESS.md").read_text(encoding="utf-8")
DEVICE = """
import os, time
import opgen

OPERATORS = ["aclnnReflectionPad2dBackward"]

def call(call, storage, outputs):
    with open("asked", "a") as file:
        print(call["id"], file=file)
    if call["id"] == "dies":
        os.abort()
    if call["id"] == "hangs":
        time.sleep(600)
    if call["id"] == "raises":
        raise RuntimeError("no memory")
    with opgen.open("suite.h5") as bundle:
        case = bundle[call["id"]]
        assert sorted(outputs) == sorted(case.golden) and sorted(storage) == sorted(case.storage)
        right = {name: case.golden[name].astype(float) for name in outputs}
        code = 507899 if call["id"] == "runs into an error" else 0
        return {"status": 0, "run_status": code, "outputs": right, "unwritten": {"gradInput": 0}}
"""


def harness(folder: Path) -> None:
    """Run it; its process for the device leaves no word behind, whenever it ends."""
    done = subprocess.run(
        [sys.executable, "harness.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": f"{ROOT}"},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_harness_of_the_manual(tmp_path: Path) -> None:
    names = ["first", "dies", "hangs", "raises", "runs into an error", "last"]
    suite = device_sample.write(
        tmp_path / "suite.h5",
        {**{name: device_sample.pad() for name in names}, "pool": device_sample.pool()},
    )
    (code,) = re.findall(r"```python\n(.*?)```", MANUAL, re.DOTALL)
    assert "SECONDS = 60 " in code
    (tmp_path / "harness.py").write_text(code.replace("SECONDS = 60 ", "SECONDS = 3 "))
    (tmp_path / "my_device.py").write_text(DEVICE)
    harness(tmp_path)
    report = opgen.diff(suite, tmp_path / "results.h5")
    assert {verdict.case: (verdict.verdict, verdict.metrics["status"]) for verdict in report} == {
        "first": ("passed", 0),
        "dies": ("crashed", "crash"),
        "hangs": ("crashed", "timeout"),
        "raises": ("failed", "unusable"),
        "runs into an error": ("failed", 0),
        "last": ("passed", 0),
        "pool": ("skipped", "skipped"),
    }
    assert (
        report["raises"].detail.endswith(": RuntimeError('no memory')")
        and "507899" in report["runs into an error"].detail
        and report["pool"].detail == "no aclnnAvgPool2dBackward"
    )
    (tmp_path / "asked").unlink()
    for _ in range(2):  # where nothing is left to ask, the end comes at once
        harness(tmp_path)
    assert not (tmp_path / "asked").exists()


def test_the_time_of_a_case_begins_when_the_device_is_there(tmp_path: Path) -> None:
    suite = device_sample.write(tmp_path / "suite.h5", {"first": device_sample.pad()})
    (code,) = re.findall(r"```python\n(.*?)```", MANUAL, re.DOTALL)
    (tmp_path / "harness.py").write_text(code.replace("SECONDS = 60 ", "SECONDS = 2 "))
    slow = (
        "\nfrom multiprocessing import current_process\nif current_process().name !="
        " 'MainProcess':\n    time.sleep(3)\n"
    )
    (tmp_path / "my_device.py").write_text(DEVICE + slow)
    harness(tmp_path)
    assert opgen.diff(suite, tmp_path / "results.h5").totals == {"passed": 1}


def verdicts() -> list[tuple[str, str]]:
    """The table of words in the manual: word, verdict."""
    return re.findall(r"^\| (?:`(\w+)`|None) \| [^|]+ \| `(\w+)`", MANUAL, re.MULTILINE)


def test_the_manual_has_every_word() -> None:
    assert [word for word, _ in verdicts()] == [*STATUS_WORDS, ""]


@pytest.mark.parametrize(("word", "verdict"), verdicts())
def test_the_verdicts_of_the_manual(word: str, verdict: str) -> None:
    assert of_first_phase(Admissible((0,), "valid", None), word or None)[0] == verdict
