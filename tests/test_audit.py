"""Pages that changed since they were transcribed: which facts stand on the lines that did."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from opgen import audit, specfile
from opgen.model import FileError
from opgen.spec import Spec
from tests.spec_sample import TEXT

LINES = [f"sentence {number}" for number in range(1, 41)]


def spec_of(lines: list[str]) -> Spec:
    block = audit.digest_block(lines, [10, 11, 12, 13, 14, 21, 30, 31, 32, 33])
    page = f"page:\n  file: window.txt\n  sha256: {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}\n  lines: |\n{block}"
    return specfile.loads(TEXT.replace("page: none", page))


def write(folder: Path, lines: list[str]) -> Path:
    (folder / "window.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_an_unchanged_page_has_no_findings(tmp_path: Path) -> None:
    spec = spec_of(LINES)
    assert audit.audit(spec, write(tmp_path, LINES)) == []
    assert spec.page is not None and audit.read_page(spec, tmp_path)[1] == spec.page.sha256
    assert audit.audit(spec, write(tmp_path, [f"  {line} " for line in LINES])) == []


def test_changed_moved_and_vanished_lines(tmp_path: Path) -> None:
    spec = spec_of(LINES)
    findings = audit.audit(spec, write(tmp_path, [line if i != 14 else "something else" for i, line in enumerate(LINES, 1)]))
    assert [(f.line, f.state, f.moved_to, f.facts) for f in findings] == [(14, "changed", None, ("same_dtype",))]
    findings = audit.audit(spec, write(tmp_path, ["new first line", *LINES]))
    assert [(f.line, f.state, f.moved_to) for f in findings] == [(n, "moved", n + 1) for n in (10, 11, 12, 13, 14, 21, 30, 31, 32, 33)]
    findings = audit.audit(spec, write(tmp_path, LINES[:32]))
    assert [(f.line, f.state, f.facts) for f in findings] == [(33, "vanished", ("kernel.min", "mode.enum", "divisor.range"))]


def test_a_line_that_is_not_cited_may_change(tmp_path: Path) -> None:
    assert audit.audit(spec_of(LINES), write(tmp_path, [line if i != 15 else "other" for i, line in enumerate(LINES, 1)])) == []


def test_a_missing_page_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="window.txt: cannot be read: No such file"):
        audit.audit(spec_of(LINES), tmp_path)


def test_every_kind_of_fact_is_found_by_its_line() -> None:
    facts = audit.facts_by_line(spec_of(LINES))
    assert facts[10] == ["gradOutput.null", "gradOutput.dtype", "gradOutput.format", "gradOutput.rank", "gradOutput"]
    assert facts[30] == ["gradOutput.null", "self.null", "kernel.null"]
    assert list(facts) == sorted(facts)


def test_a_spec_without_a_page_is_never_stale(tmp_path: Path) -> None:
    assert audit.audit(specfile.loads(TEXT), tmp_path) == []


def test_a_digest_is_of_the_sentence_alone() -> None:
    assert audit.line_digest(" a sentence\r") == audit.line_digest("a sentence") == hashlib.sha256(b"a sentence").hexdigest()[:12]
