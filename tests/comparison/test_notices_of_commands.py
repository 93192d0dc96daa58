"""What commands other than diff notice: every row of the second table of the manual, run as it is
printed there.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

import opgen
from opgen.bundle.read.reader import Bundle
from opgen.cli import main
from opgen.lock.lockfile import Lock, LockEntry, read_lock
from tests import loopback
from tests.comparison.test_notices import MANUAL, right
from tests.support import device_sample as sample

POOL, SILU = "avg_pool2d_backward", "silu_backward"


class Row(NamedTuple):
    """What is wrong, the command, its exit code, and a part of what it says."""

    words: str
    command: str
    code: str
    says: str


def table() -> list[Row]:
    """The table of the manual."""
    section = MANUAL.read_text(encoding="utf-8").partition("### What the other commands")[2]
    lines = section.partition("\n## ")[0].splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if "| `" in line
    ]
    return [Row(words, command.strip("`"), code, says) for words, command, code, says in rows]


def run(*args: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, list(args), prog_name="opgen")
    return done.exit_code, " ".join(done.output.split())


def results(bundle: Bundle, path: Path, device: str = "") -> None:
    header = {"device": device} if device else {}
    with opgen.Results.create(path, bundle, header=header) as answers:
        for case in bundle:
            answers.add(case.id, **right(case))


def changed(lock: Lock, name: Path, **values: object) -> None:
    """A lock that says something else of its last case with data; without values, nothing of it."""
    ((page, entries),) = lock.entries.items()
    case = [case for case, entry in entries.items() if entry.key != "-"][-1]
    kept: dict[str, LockEntry] = {one: entry for one, entry in entries.items() if one != case}
    if values:
        kept[case] = replace(entries[case], **values)
    Lock(lock.sources, {page: kept}).write(name)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the manual describes."""
    folder = tmp_path_factory.mktemp("files")
    calls = {name: sample.CALLS[name] for name in ("pad-FLOAT", "norm-plain")}
    sample.write(folder / "b.h5", calls, {})
    sample.write(folder / "wrong-bundle.h5", {"pad-FLOAT": sample.CALLS["pad-FLOAT"]}, {})
    opgen.generate([SILU], shard="1000000/1000000", output=folder / "empty.h5")
    opgen.generate(
        [POOL], products=["ascend910b"], cases=["*.invalid.*"], output=folder / "lost.h5"
    )
    for bundle, name, device in (
        ("b", "right", "npu:0"),
        ("b", "r", "npu:0"),
        ("b", "other", "npu:1"),
        ("b", "nameless", ""),
        ("empty", "empty-r", "npu:0"),
        ("wrong-bundle", "wrong", "npu:0"),
    ):
        with opgen.open(folder / f"{bundle}.h5") as opened:
            results(opened, folder / f"{name}.h5", device)
    for name, more in (("right", []), ("fewer", ["--case", "pad-FLOAT"])):
        command = ["diff", str(folder / "b.h5"), str(folder / "right.h5"), "--json", *more]
        report = CliRunner().invoke(main, command).stdout
        (folder / f"{name}.json").write_text(report, encoding="utf-8")
    (folder / "pages").mkdir()
    page = folder / "pages" / "aclnnReflectionPad2dBackward.txt"
    page.write_text("x\n" * 21, encoding="utf-8")
    whole = folder / "whole.lock"
    assert run("refresh", SILU, "--lock", str(whole), "--quiet")[0] == 0
    lock = read_lock(whole)
    changed(lock, folder / "short.lock")
    changed(lock, folder / "changed.lock", expectation="stated:161002:self.null")
    changed(lock, folder / "drifted.lock", key="0123456789", goldens="0123456789")
    return folder


@pytest.mark.parametrize("row", table(), ids=lambda row: row.command.replace(" ", "-"))
def test_a_command_says_what_the_manual_says(
    row: Row, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    if "aclnn" in row.command:
        lost = "lost" in row.words
        monkeypatch.setenv("OPGEN_OPAPI", str(loopback.libraries()))
        monkeypatch.setenv("LOOPBACK_SOC", loopback.SOCS["ascend910b"] if lost else "Ascend999")
        monkeypatch.setenv("LOOPBACK_FAULT", "lost@any#2+" if lost else "")
    code, said = run(*shlex.split(row.command), *(["--force"] if " -o " in row.command else []))
    assert (str(code), row.says in said) == (row.code, True), said


def test_right_files_pass(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is the fault that each row shows, not the files."""
    monkeypatch.chdir(files)
    for command in (
        "diff b.h5 right.h5",
        "compare right.json right.json",
        "merge right.h5 -o all.h5 --force",
        f"refresh {SILU} --lock whole.lock --check",
    ):
        code, said = run(*command.split())
        assert code == 0, said
