"""The programs that show a fault without opgen: compiled and run against the loopback, and on torch
where it is installed.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import opgen
from opgen.bundle.read.reader import Bundle
from opgen.calls.call_json import make_call
from opgen.calls.jsonl import NamedCall
from opgen.cli import main
from opgen.devices import aclnn
from opgen.devices.running import run
from opgen.generation.engine import write
from opgen.minimization import files, torch_program
from opgen.minimization.reduction import minimize
from opgen.minimization.trials import Trials
from opgen.spec.catalog import catalog
from tests import loopback
from tests.golden import torch_or_skip
from tests.support import device_sample
from tests.support.suites import of_calls

POOL: dict[str, Any] = {
    "op": "aclnnAvgPool2dBackward",
    "product": "ascend910b",
    "args": {
        "gradOutput": {
            "shape": [2, 3, 6, 7],
            "dtype": "FLOAT16",
            "format": "NCHW",
            "strides": [126, 42, 7, 1],
            "offset": 0,
        },
        "self": {"shape": [2, 3, 12, 14], "dtype": "FLOAT16", "format": "NCHW"},
        "kernelSize": [2, 2],
        "stride": [],
        "padding": [0, 0],
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "cubeMathType": 0,
        "gradInput": {
            "shape": [2, 3, 12, 14],
            "dtype": "FLOAT16",
            "format": "NCHW",
            "strides": [600, 200, 16, 1],
            "offset": 3,
            "storage_shape": [1200],
        },
    },
}
PAD: dict[str, Any] = {
    "op": "aclnnReflectionPad2dBackward",
    "product": "ascend910b",
    "args": {
        "gradOutput": {"shape": [2, 5, 6], "dtype": "COMPLEX64"},
        "self": {"shape": [2, 3, 4], "dtype": "COMPLEX64"},
        "padding": [1, 1, 1, 1],
        "gradInput": {"shape": [2, 3, 4], "dtype": "COMPLEX64"},
    },
}
NORM: dict[str, Any] = {
    "op": "aclnnGroupNormBackward",
    "product": "ascend910b",
    "args": {
        "gradOut": {"shape": [2, 4, 3], "dtype": "BFLOAT16"},
        "input": {"shape": [2, 4, 3], "dtype": "BFLOAT16"},
        "mean": {"shape": [2, 2], "dtype": "BFLOAT16"},
        "rstd": {"shape": [2, 2], "dtype": "BFLOAT16"},
        "gamma": {"shape": [4], "dtype": "BFLOAT16"},
        "N": 2,
        "C": 4,
        "HxW": 3,
        "group": 2,
        "outputMask": [True, True, False],
        "gradInput": {"shape": [2, 4, 3], "dtype": "BFLOAT16"},
        "gradGammaOut": {"shape": [4], "dtype": "BFLOAT16"},
        "gradBetaOut": None,
    },
}
EVEN = device_sample.convolution(
    "FLOAT",
    padding=[1, 1, 2, 2],
    gradOutput={"shape": [2, 4, 5, 8], "dtype": "FLOAT", "format": "NCHW"},
)
REFUSED: dict[str, Any] = {**POOL, "args": {**POOL["args"], "gradOutput": None}}


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_OPAPI", str(loopback.libraries()))
    monkeypatch.setenv("LOOPBACK_SOC", loopback.SOCS["ascend910b"])


def written(call: dict[str, Any], path: Path) -> Path:
    named = NamedCall(
        "one", make_call(call["op"], call["product"], call["args"], catalog().kinds), {}
    )
    write(of_calls([named]), path, {"seed": 0})
    return path


@pytest.mark.parametrize(
    ("call", "faults"),
    [
        (
            POOL,
            "element runtime kernel beyond before far gaps input behind_input scratch workspace"
            " stale partly",
        ),
        (PAD, "element"),
        (NORM, "nan"),
        (REFUSED, "accept lost"),
    ],
    ids=["views", "complex", "bfloat16", "a status"],
)
def test_programs_show_the_fault_and_nothing_without_it(
    call: dict[str, Any], faults: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a device with the fault that was reduced, and on any other that the runner notices."""
    named = NamedCall(
        "one", make_call(call["op"], call["product"], call["args"], catalog().kinds), {}
    )
    monkeypatch.setenv("LOOPBACK_FAULT", faults.split(maxsplit=1)[0])
    failing = Trials(aclnn.AclnnBackend(), 0, tmp_path).failures([named], "grid")[0]
    texts = files(failing)
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        assert "opgen" not in text or name == "call.json"
    folder = loopback.libraries()
    built = [
        loopback.compiler("c++", "g++", "clang++"),
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        "repro.cpp",
        "-o",
        "repro",
    ]
    subprocess.run(
        [*built, f"-L{folder}", "-lascendcl", "-lnnopbase", "-lopapi"], cwd=tmp_path, check=True
    )
    for command in (["./repro"], [sys.executable, "repro.py", str(folder)]):
        for asked in (*faults.split(), ""):
            environment = {**os.environ, "LOOPBACK_FAULT": asked, "LD_LIBRARY_PATH": str(folder)}
            run = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert run.returncode == bool(asked), (command, asked, run.stdout + run.stderr)
            assert "first phase: " in run.stdout and (
                asked != "element" or ": 1 of " in run.stdout or "2 of" in run.stdout
            )


def test_a_program_that_cannot_make_the_call_has_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = NamedCall(
        "one", make_call(POOL["op"], POOL["product"], POOL["args"], catalog().kinds), {}
    )
    monkeypatch.setenv("LOOPBACK_FAULT", "element")
    texts = files(Trials(aclnn.AclnnBackend(), 0, tmp_path).failures([named], "grid")[0])
    folder, there = tmp_path / "libraries", {"libascendcl.so", "libnnopbase.so"}
    folder.mkdir()
    (tmp_path / "torch.py").write_text("raise ImportError('torch is broken')\n")

    def told(name: str, *arguments: str) -> tuple[int, str]:
        (tmp_path / name).write_text(texts[name])
        run = subprocess.run(
            [sys.executable, name, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return run.returncode, run.stderr

    code, said = told("repro.py", "nowhere")
    assert (code, said.count("\n")) == (2, 1) and "no answer: OSError: nowhere/libascendcl" in said
    for one in there:
        (folder / one).symlink_to(loopback.libraries() / one)
    code, said = told("repro.py", str(folder))
    assert code == 2 and "no library has aclnnAvgPool2dBackward" in said
    code, said = told("repro_torch.py")
    assert code == 2 and "torch is broken" in said


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize(
    "call",
    [POOL, PAD, NORM, EVEN],
    ids=["pooling", "padding", "normalisation", "convolution of four paddings"],
)
def test_the_torch_script_agrees_with_the_golden(
    call: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = NamedCall(
        "one", make_call(call["op"], call["product"], call["args"], catalog().kinds), {}
    )
    monkeypatch.setenv("LOOPBACK_FAULT", "element")
    failing = Trials(aclnn.AclnnBackend(), 0, tmp_path).failures([named], "grid")[0]
    (tmp_path / "repro_torch.py").write_text(files(failing)["repro_torch.py"])
    run = subprocess.run(
        [sys.executable, "repro_torch.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0 and "0 of " in run.stdout, run.stdout + run.stderr


def test_no_torch_script_where_torch_has_no_such_padding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch pads both sides of an axis alike."""
    uneven = {**EVEN, "args": {**EVEN["args"], "padding": [1, 1, 1, 3]}}
    monkeypatch.setenv("LOOPBACK_FAULT", "element")
    written = {}
    for name, call in {"even": EVEN, "uneven": uneven}.items():
        named = NamedCall(
            name, make_call(call["op"], call["product"], call["args"], catalog().kinds), {}
        )
        written[name] = set(
            files(Trials(aclnn.AclnnBackend(), 0, tmp_path).failures([named], "grid")[0])
        )
    assert written["even"] - written["uneven"] == {"repro_torch.py"} and written["uneven"] == {
        "call.json",
        "repro.cpp",
        "repro.py",
    }


def test_torch_scripts_know_the_operators_that_the_device_knows() -> None:
    torch_or_skip()
    assert set(import_module("opgen.devices.torch_operators").ADAPTERS) == set(torch_program.CALLS)


CUBE: dict[str, Any] = {
    "op": "aclnnAvgPool3dBackward",
    "product": "ascend910b",
    "args": {
        "gradOutput": {"shape": [2, 2, 2, 2], "dtype": "FLOAT"},
        "self": {"shape": [2, 4, 4, 4], "dtype": "FLOAT"},
        "kernelSize": [2],
        "stride": [2, 2, 2],
        "padding": [0],
        "ceilMode": False,
        "countIncludePad": True,
        "divisorOverride": 0,
        "output": {"shape": [2, 4, 4, 4], "dtype": "FLOAT"},
    },
}
SMALL: dict[str, Any] = {**CUBE, "args": {**CUBE["args"], "kernelSize": [5], "padding": [2]}}
LINE: dict[str, Any] = {
    "op": "aclnnReflectionPad1dBackward",
    "product": "ascend910b",
    "args": {
        "gradOutput": {"shape": [2, 6], "dtype": "FLOAT"},
        "self": {"shape": [2, 3], "dtype": "FLOAT"},
        "padding": [1, 2],
        "gradInput": {"shape": [2, 3], "dtype": "FLOAT"},
    },
}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            CUBE,
            (
                "output = torch.ops.aten.avg_pool3d_backward(\n    gradOutput, self, [2], [2, 2,"
                " 2], [0],\n    False, True, None,\n)"
            ),
        ),
        (SMALL, ""),
        (LINE, "gradInput = torch.ops.aten.reflection_pad1d_backward(gradOutput, self, [1, 2])"),
    ],
    ids=["3-D", "a window larger than the image", "1-D"],
)
def test_what_a_torch_script_calls(call: dict[str, Any], text: str) -> None:
    assert (
        torch_program.CALLS[call["op"]](
            make_call(call["op"], call["product"], call["args"], catalog().kinds).args
        )
        == text
    )


def test_why_there_is_no_torch_script_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPBACK_FAULT", "element")
    named = NamedCall(
        "one", make_call(POOL["op"], POOL["product"], POOL["args"], catalog().kinds), {}
    )
    (failing,) = Trials(aclnn.AclnnBackend(), 0, tmp_path).failures([named], "grid")
    assert torch_program.why_not(failing) == ""
    assert (
        torch_program.why_not(replace(failing, storage={}))
        == "torch makes valid calls with data only"
    )
    small = make_call(SMALL["op"], SMALL["product"], SMALL["args"], catalog().kinds)
    assert torch_program.why_not(replace(failing, call=small)) == (
        "torch has no way to make this call"
    )
    unknown = replace(failing, call=replace(failing.call, api="aclnnAddBackward"))
    assert torch_program.why_not(unknown) == (
        "opgen/minimization/torch_program.py has no entry for aclnnAddBackward"
    )
    assert torch_program.program(unknown) == ""


def test_the_command_writes_the_call_and_its_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, results = written(POOL, tmp_path / "bundle.h5"), tmp_path / "results.h5"
    monkeypatch.setenv("LOOPBACK_FAULT", "gaps")
    with opgen.open(path) as bundle:
        run(bundle, aclnn.AclnnBackend(), results)
    arguments = [
        "minimize",
        str(path),
        str(results),
        "one",
        "--backend",
        "aclnn",
        "-o",
        str(tmp_path / "fault"),
    ]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    call = json.loads((tmp_path / "fault" / "call.json").read_text())
    assert (
        json.loads(done.stdout) == call
        and call["args"]["gradInput"]["strides"]
        and np.prod(call["args"]["gradInput"]["shape"]) < 20
    )
    assert {one.name for one in (tmp_path / "fault").iterdir()} >= {
        "repro.cpp",
        "repro.py",
        "repro_torch.py",
    }
    other = CliRunner().invoke(
        main, [*arguments[:5], "mutant:one_wrong_element", "--force", *arguments[6:]]
    )
    assert other.exit_code == 2 and other.stderr.splitlines()[-1] == (
        f"{results}: results of aclnn npu:0, and --backend is mutant one_wrong_element; run the"
        " bundle there, or accept that with --any-backend"
    )
    passes = CliRunner().invoke(
        main, [*arguments[:5], "mutant:nothing", "--any-backend", "--force", *arguments[6:]]
    )
    assert passes.exit_code == 2 and "passes when it is run again" in passes.output
    chosen = CliRunner().invoke(
        main, [*arguments[:3], "o*", *arguments[4:-1], str(tmp_path / "chosen")]
    )
    assert chosen.exit_code == 0 and chosen.stdout == done.stdout
    again = CliRunner().invoke(main, arguments)
    assert again.exit_code == 2 and "fault: exists already; --force replaces it" in again.output
    monkeypatch.setenv("LOOPBACK_FAULT", "")
    gone = CliRunner().invoke(main, [*arguments, "--force"])
    assert gone.exit_code == 2 and "passes when it is run again" in gone.output


def test_the_command_says_how_the_data_are_drawn_again(tmp_path: Path) -> None:
    """A fault that only data of one recipe show: the call alone does not show it."""

    def opgen_(*args: str) -> Result:
        return CliRunner().invoke(main, [arg.format(tmp_path) for arg in args])

    def fails(calls: str, *options: str) -> bool:
        assert (
            opgen_("generate", "--calls", calls, "-o", "{}/s.h5", "--force", *options).exit_code
            == 0
        )
        assert (
            opgen_(
                "run", "{}/s.h5", "--backend", "mutant:nan_lost", "-o", "{}/r.h5", "--force"
            ).exit_code
            == 0
        )
        return opgen_("diff", "{}/s.h5", "{}/r.h5").exit_code == 1

    (tmp_path / "calls.jsonl").write_text(json.dumps({**POOL, "id": "one"}) + "\n")
    assert fails("{}/calls.jsonl", "--recipe", "nonfinite", "--seed", "3") and not fails(
        "{}/calls.jsonl"
    )
    assert fails("{}/calls.jsonl", "--recipe", "nonfinite", "--seed", "3")
    done = opgen_(
        "minimize", "{}/s.h5", "{}/r.h5", "one", "--backend", "mutant:nan_lost", "-o", "{}/fault"
    )
    assert done.exit_code == 0, done.output
    again = [shlex.split(line) for line in done.stderr.splitlines() if line.startswith("  opgen ")]
    assert [opgen_(*words).exit_code for _, *words in again] == [0, 0, 1]
    assert [words[1] for words in again] == ["generate", "run", "diff"]
    assert again[0][4:8] == ["--recipe", "nonfinite", "--seed", "3"]
    assert not fails("{}/fault/call.json")


def test_a_crash_is_minimized_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBACK_FAULT", "crash")
    with Bundle(written(PAD, tmp_path / "bundle.h5")) as bundle:
        minimal = minimize(bundle["one"], aclnn.AclnnBackend(device="npu:0"), most=6)
    assert minimal.ran <= 16
    assert (
        minimal.failure.kind == ("crashed", 0, "crash")
        and minimal.failure.elements < minimal.before
    )
