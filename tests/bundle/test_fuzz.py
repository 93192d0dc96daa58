"""The fuzz of the readers of files and journals: it finds nothing now, and would find something."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.bundle import fuzz

COUNT = 12


@pytest.mark.parametrize(("kind", "reader"), fuzz.KINDS.values())
def test_no_mutant_ends_in_a_traceback(tmp_path: Path, kind: str, reader: str) -> None:
    fuzz.samples(tmp_path)
    got = fuzz.figures(kind, reader, range(COUNT), tmp_path)
    assert got.faults == () and got.refused + got.read == COUNT and got.refused > 0
    assert got.memory < fuzz.MEMORY


def test_a_reader_that_trusts_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fuzz.samples(tmp_path)
    monkeypatch.setattr("opgen.bundle.read.finished.unsoundness", lambda file: "")
    assert fuzz.figures("tables", "bundle", range(COUNT), tmp_path).faults


HANGS = ["while True: pass", "import time; time.sleep(60)", "sum(range(10**12))"]


@pytest.mark.parametrize("hang", HANGS)
def test_a_reader_that_hangs_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hang: str
) -> None:
    """In a loop, in a wait, and in C, though it takes every exception for one of the file."""

    def read(*_: object) -> tuple[bool, str]:
        with suppress(Exception):
            exec(hang)
        return True, ""

    fuzz.samples(tmp_path)
    monkeypatch.setattr(fuzz, "read", read)
    monkeypatch.setattr(fuzz, "SECONDS", 1)
    monkeypatch.setattr(fuzz, "WAIT", 2)
    (fault,) = fuzz.figures("tables", "bundle", range(1), tmp_path).faults
    assert "HangError" in fault or "ended by signal" in fault
