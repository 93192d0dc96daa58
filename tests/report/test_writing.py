"""Reports replace reports of opgen, and nothing else unless that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from opgen.bundle.format.dtypes import BundleError
from opgen.comparison.diff_report import DiffReport
from opgen.model import Verdict
from opgen.report import coverage, html, junit
from opgen.report.writing import write_report

ORIGIN = {"bundle": "nosuch.h5", "results": "nosuch.h5"}
REPORT = DiffReport([Verdict("a", "failed", "why", {"op": "aclnnX"})], ORIGIN)
OTHER = DiffReport([Verdict("b", "passed", "", {"op": "aclnnY", "evidence": True})], ORIGIN)


@pytest.mark.parametrize("form", [html, junit])
def test_a_report_replaces_a_report(tmp_path: Path, form) -> None:
    path = tmp_path / "report"
    for report in (REPORT, OTHER, REPORT):
        write_report(path, form.text(report))
        assert path.read_text(encoding="utf-8") == form.text(report)


@pytest.mark.parametrize("form", [html, junit])
@pytest.mark.parametrize("there", [b"my own notes\n", b"<!doctype html>\n", b"\xff\xfe", b"opgen"])
def test_nothing_else_is_replaced_unless_that_is_asked_for(tmp_path: Path, form, there) -> None:
    path = tmp_path / "report"
    path.write_bytes(there)
    with pytest.raises(
        BundleError, match=r"report: exists and is not such a report of opgen; --forc"
    ):
        write_report(path, form.text(REPORT))
    assert path.read_bytes() == there
    write_report(path, form.text(REPORT), force=True)
    assert path.read_text(encoding="utf-8") == form.text(REPORT)


def test_an_empty_file_is_nobodys(tmp_path: Path) -> None:
    """Such as the one that continuous integration hands out for summaries."""
    (tmp_path / "summary").touch()
    page = {"boundaries": 1.0, "tuples": {"1": 1.0, "2": 1.0, "3": 1.0}, "pages": []}
    write_report(tmp_path / "summary", coverage.html(page, "opgen coverage"))
    assert "opgen coverage" in (tmp_path / "summary").read_text(encoding="utf-8")
