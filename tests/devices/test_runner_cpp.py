"""The runner for boards without Python, on the loopback device: it answers as the aclnn backend."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import opgen
from opgen.bundle.read.reader import Bundle
from opgen.devices.running import run
from opgen.generation.engine import write
from opgen.spec.catalog import catalog
from opgen.suite.planned_suite import plan_suite
from opgen.suite.planning.plan import plan_for
from tests import loopback

OPERATORS = {
    f"aclnn{name}Backward" for name in ("AvgPool2d", "Convolution", "GroupNorm", "ReflectionPad2d")
}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bundle]:
    path = tmp_path_factory.mktemp("runner") / "smoke.h5"
    pages = [(spec, plan_for(spec.op)) for spec in catalog().specs if spec.api in OPERATORS]
    write(plan_suite(pages, "smoke"), path, {"seed": 0})
    with opgen.open(path) as found:
        yield found


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> str:
    """The command of a runner whose libraries are those of the loopback device."""
    monkeypatch.setenv("OPGEN_OPAPI", str(loopback.libraries()))
    monkeypatch.setenv("LOOPBACK_SOC", loopback.SOCS["ascend910b"])
    monkeypatch.delenv("LOOPBACK_FAULT", raising=False)
    return f"cmd:{loopback.runner()}"


def test_it_answers_as_the_backend_does(bundle: Bundle, board: str, tmp_path: Path) -> None:
    asked = [case.id for case in bundle if case.product == "ascend910b"]
    run(bundle, "aclnn", tmp_path / "aclnn.h5", cases=asked)
    run(bundle, board, tmp_path / "board.h5", cases=asked)
    with (
        opgen.Results.open(tmp_path / "aclnn.h5") as one,
        opgen.Results.open(tmp_path / "board.h5") as other,
    ):
        assert len(one) == len(other) == len(asked) > 100
        for answer in one:
            same = other[answer.id]
            assert (same.status, same.run_status) == (answer.status, answer.run_status)
            assert same.unwritten == answer.unwritten
            assert same.outputs.keys() == answer.outputs.keys()
            for name, array in answer.outputs.items():
                assert same.outputs[name].tobytes() == array.tobytes(), (answer.id, name)
        assert Counter(bool(answer.outputs) for answer in one)[True] > 30


@pytest.mark.parametrize("fault", ["element", "partly", "crash", "crash1"])
def test_its_faults_are_the_devices(
    bundle: Bundle, board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setenv("LOOPBACK_FAULT", fault)
    asked = [case.id for case in bundle if case.product == "ascend910b" and case.phase == 2][:6]
    run(bundle, board, tmp_path / "board.h5", cases=asked)
    found = {one.verdict for one in opgen.diff(bundle, tmp_path / "board.h5", cases=asked)}
    assert ("crashed" if fault.startswith("crash") else "failed") in found


def test_cases_of_another_product_are_skipped(bundle: Bundle, board: str, tmp_path: Path) -> None:
    asked = [case.id for case in bundle if case.product == "ascend910"][:3]
    run(bundle, board, tmp_path / "board.h5", cases=asked)
    with opgen.Results.open(tmp_path / "board.h5") as answers:
        assert {answer.status for answer in answers} == {"skipped"}


def test_libraries_that_are_not_there_are_one_message() -> None:
    done = subprocess.run(
        [loopback.runner()], env={"OPGEN_OPAPI": "/nowhere"}, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"no library has aclInit\n")
