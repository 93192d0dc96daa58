"""Starts of files of one's own are what the commands take that read them."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import opgen
from opgen.cli import main
from opgen.devices import runner
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


SPOILT = "return {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}"
RIGHT = """
    left, right, top, bottom = args["padding"]
    gradient = inputs["gradOutput"].astype(np.float64)
    *_, height, width = shapes["gradInput"]
    sums = np.zeros(shapes["gradInput"])
    for y in range(-top, height + bottom):
        for x in range(-left, width + right):
            at = fold(y, height), fold(x, width)
            sums[(..., *at)] += gradient[..., y + top, x + left]
    return {name: sums for name in shapes}


def fold(at, extent):
    return -at if at < 0 else 2 * extent - 2 - at if at >= extent else at
"""


def test_a_module_of_a_runner_runs_and_its_zeros_fail_until_it_computes(tmp_path):
    """Inputs with strides, offsets and BFLOAT16 are what the operator sees."""
    opgen.generate([OP], products=["ascend910b"], output=tmp_path / "suite.h5", workers=1)
    (tmp_path / "runner.py").write_text(run("new", "runner.py").output, encoding="utf-8")
    text, verdicts = run("new", "runner", OP).output, {}
    assert text.count(SPOILT) == 1 and "--product ascend910b" in text
    for name, code in {"zeros": text, "right": text.replace(f"    {SPOILT}", RIGHT)}.items():
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        command = shlex.join([sys.executable, str(tmp_path / "runner.py"), name])
        command = f"cmd:env PYTHONPATH={shlex.quote(str(tmp_path))} {command}"
        opgen.run(tmp_path / "suite.h5", command, tmp_path / f"{name}.h5")
        report = opgen.diff(tmp_path / "suite.h5", tmp_path / f"{name}.h5")
        judged = [verdict for verdict in report if verdict.metrics.get("outputs")]
        verdicts[name] = Counter(verdict.verdict for verdict in judged)
    assert verdicts["zeros"]["failed"] > 10 and verdicts["zeros"]["passed"] == 0
    assert not {"failed", "crashed"} & set(verdicts["right"]) and verdicts["right"]["passed"] > 10


def test_a_tensor_of_a_runner_is_the_input_that_a_case_has(tmp_path):
    """Of all dtypes and views, tensors of lists, and absent ones."""
    operators = ["lstm_backward", "avg_pool2d_backward"]
    opgen.generate(operators, products=["ascend910b"], output=tmp_path / "suite.h5", workers=1)
    dtypes = set()
    with opgen.open(tmp_path / "suite.h5") as suite:
        for case in suite:
            storage = {
                name: array.view(np.uint16) if array.dtype.name == "bfloat16" else array
                for name, array in case.storage.items()
            }
            for name, wanted in case.inputs.items():
                seen = runner.tensor(case.call, storage, name)
                assert np.array_equal(seen, wanted.astype(seen.dtype), equal_nan=True), case.id
                dtypes.add((wanted.dtype.name, seen.dtype.name))
    assert ("bfloat16", "float32") in dtypes and ("float16", "float16") in dtypes


def test_runners_are_printed_as_they_are():
    folder = Path(runner.__file__).parent
    for name in ("runner.py", "runner.cpp"):
        assert run("new", name).output == (folder / name).read_text(encoding="utf-8")
        assert run("new", name, OP).exit_code == 2
    assert "Missing argument 'OP'" in run("new", "runner").output


@pytest.mark.parametrize("what", ["plan", "calls", "backend", "runner"])
def test_an_operator_without_a_spec_is_refused(what):
    with pytest.raises(FileError, match="no such operator"):
        new_file(what, "nosuch")
    assert run("new", what, "nosuch").exit_code == 2
