"""``--log`` tells of every command what it read, said and wrote, and how it ended."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import opgen
from tests.cli.test_cli import run
from tests.support import device_sample


@pytest.mark.parametrize(
    ("line", "code", "steps"),
    [
        ("verify suite.h5", 0, ("suite.h5: read, ", "suite.h5: whole and sound")),
        ("inspect suite.h5", 0, ("suite.h5: read, ",)),
        ("inspect suite.h5 nothing", 2, ("suite.h5: read, ", "ID|GLOB: nothing: no such case")),
        ("inspect", 2, ("Missing argument 'FILE'",)),
        ("judge calls.jsonl", 0, ("calls.jsonl: being read",)),
        (
            "diff suite.h5 results.h5",
            1,
            ("suite.h5: read, ", "results.h5: read, ", "results.h5: 1 failed, 28 missing"),
        ),
        ("diff suite.h5 results.h5 --junit a.xml", 1, ("a.xml: written, ",)),
        ("merge results.h5 -o b.h5 --quiet", 0, ("b.h5: written, ", "b.h5: 1 part, ")),
        ("unpack suite.h5 -o tree.h5", 0, ("tree.h5: written, ",)),
        ("export npz suite.h5 -o arrays", 0, ("arrays: written",)),
    ],
)
def test_every_command_logs_what_it_did(
    line: str, code: int, steps: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        opgen.open(device_sample.write(tmp_path / "suite.h5")) as suite,
        opgen.Results.create("results.h5", suite, header={"device": "one"}) as results,
    ):
        results.add(suite.ids[0], 561000)
    call = {"id": "a", **device_sample.pad()}
    Path("calls.jsonl").write_text(json.dumps(call) + "\n", encoding="utf-8")
    ended = run("--log", "log.txt", *line.split())
    assert ended.exit_code == code, ended.output
    lines = Path("log.txt").read_text(encoding="utf-8").splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d [\d:,]{12} opgen[\w.]*: ", line) for line in lines)
    assert re.search(r" opgen: opgen \d+\.\d+\.\d+: ", lines[0])
    assert re.search(rf" opgen: exit code {code} after \d+\.\d s$", lines[-1])
    for step in steps:
        assert any(step in line for line in lines), lines


def test_without_a_log_nothing_is_told(tmp_path: Path) -> None:
    device_sample.write(tmp_path / "suite.h5")
    assert "read, " not in run("verify", str(tmp_path / "suite.h5")).stderr
    assert "suite.h5: read, " in run("-v", "verify", str(tmp_path / "suite.h5")).stderr
