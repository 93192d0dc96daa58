"""Starts of files of one's own are what the commands take that read them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import opgen
from opgen.cli import main
from opgen.files.resources import cases_folder
from opgen.lint.new_files import new_file
from opgen.model import FileError

OP = "reflection_pad2d_backward"
UNPLANNED = "multi_scale_deformable_attention_grad"
"""An operator without a plan of its own."""


def run(*words: str):
    return CliRunner().invoke(main, [*words])


def test_a_plan_that_is_shipped_is_printed_as_it_is():
    assert new_file("plan", OP) == (cases_folder() / f"{OP}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("uncommented", [False, True])
def test_a_plan_to_begin_with_is_a_plan(tmp_path, uncommented):
    """Also with its first axis, whose comment says how it is written."""
    assert not (cases_folder() / f"{UNPLANNED}.yaml").exists()
    text = new_file("plan", UNPLANNED)
    if uncommented:
        head, axes, first, *_ = text.partition("# axes:\n")[0], "axes:\n", *text.split("\n")[6:]
        text = f"{head}{axes}{first.removeprefix('#')}\n"
        assert "product:" in first
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    assert run("check", str(path)).exit_code == 0, text


def test_calls_are_judged_as_their_comments_say():
    valid, invalid = map(json.loads, new_file("calls", OP).splitlines())
    answers = opgen.judge([valid, invalid])
    assert [answer.page.bucket for answer in answers] == ["valid", "stated"]
    for call, answer in zip((valid, invalid), answers, strict=True):
        codes = " or ".join(map(str, answer.page.codes))
        assert call["comment"].startswith(
            f"the page admits the status {codes} ({answer.page.bucket})"
        )
    assert f"it breaks {answers[1].page.breaks[0].rule}" in invalid["comment"]


def test_a_backend_runs_and_its_zeros_fail(tmp_path):
    (tmp_path / "mine.py").write_text(new_file("backend", OP), encoding="utf-8")
    (tmp_path / "calls.jsonl").write_text(new_file("calls", OP).splitlines()[0], encoding="utf-8")
    opgen.generate(calls=tmp_path / "calls.jsonl", output=tmp_path / "suite.h5")
    opgen.run(tmp_path / "suite.h5", f"{tmp_path}/mine.py:Device", tmp_path / "results.h5")
    (verdict,) = opgen.diff(tmp_path / "suite.h5", tmp_path / "results.h5")
    assert verdict.verdict == "failed" and "all zeros" in verdict.detail


def test_a_backend_is_told_what_a_case_of_its_operator_gives():
    pool, rows, lists = (
        new_file("backend", op)
        for op in ("avg_pool2d_backward", "embedding_dense_backward", "lstm_backward")
    )
    scalars = new_file("backend", "softplus_backward")
    assert "Of beta, threshold, which are aclScalars, take .value." in " ".join(scalars.split())
    assert ".value" not in pool
    assert "case.compute" in pool and "case.compute" not in rows  # this page has no modes
    assert "NAME[N]" not in rows and "(grad, indices)" in rows
    assert "hx[N], params[N], dy" in lists and "params[0]" not in lists
    assert "value (hasBias, numLayers" in lists  # and no tensors among them
    assert max(map(len, lists.splitlines())) <= 100


@pytest.mark.parametrize("what", ["plan", "calls", "backend"])
def test_an_operator_without_a_spec_is_refused(what):
    with pytest.raises(FileError, match="no such operator"):
        new_file(what, "nosuch")
    assert run("new", what, "nosuch").exit_code == 2
