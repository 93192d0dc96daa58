"""The fuzz of the readers of files and journals: it finds nothing now, and would find something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundle import fuzz

COUNT = 12


@pytest.mark.parametrize(("kind", "reader"), fuzz.KINDS)
def test_no_mutant_ends_in_a_traceback(tmp_path: Path, kind: str, reader: str) -> None:
    fuzz.samples(tmp_path)
    got = fuzz.figures(kind, reader, COUNT, tmp_path)
    assert got.faults == () and got.refused + got.read == COUNT and got.refused > 0
    assert got.memory < fuzz.MEMORY


def test_a_reader_that_trusts_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fuzz.samples(tmp_path)
    monkeypatch.setattr("opgen.bundle.read.finished.unsoundness", lambda file: "")
    assert fuzz.figures("tables", "bundle", COUNT, tmp_path).faults
