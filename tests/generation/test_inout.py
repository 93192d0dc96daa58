"""A tensor that is an input and an output, from a spec to a verdict, by an operator that is made
up: generated, run on the loopback, judged, minimized, exported and read again.
"""

from __future__ import annotations

import json
import os
import subprocess
from math import prod
from pathlib import Path

import pytest

from tests import loopback
from tests.support import copies, held

SCRIPT = """
import json, os, sys, opgen
from opgen.cli import main
from opgen.devices import backend
from opgen.minimization import files
folder, libraries, soc, runner = sys.argv[1:]
os.environ |= {"OPGEN_OPAPI": libraries, "LOOPBACK_SOC": soc}
bundle = f"{folder}/suite.h5"
opgen.generate(["held_backward"], plan="standard", output=bundle)
told, outputs, verdicts, errors, calls = {}, {}, {}, {}, {}
with opgen.open(bundle) as suite:
    for case in suite:
        calls[case.id] = case.call["args"]
        if case.phase == 2 and all(case.golden["gradInputRef"].shape):
            held, added = case.inputs["gradInputRef"], case.inputs["gradOutput"]
            golden = held.astype(float) + added.astype(float) * case.args["factor"]
            kept = case.golden["gradInputRef"]
            same = (golden.astype(kept.dtype) == kept) | (golden != golden)
            told[case.id] = [bool(held.any()), bool(same.all()), case.written]
for fault in ("", "stale", "gaps", "element"):
    os.environ["LOOPBACK_FAULT"] = fault
    with opgen.open(bundle) as suite:
        opgen.run(suite, backend("aclnn"), f"{folder}/results{fault}.h5")
        opgen.run(suite, f"cmd:{runner}", f"{folder}/cmd{fault}.h5")
    for way in ("results", "cmd"):
        found = opgen.diff(bundle, f"{folder}/{way}{fault}.h5")
        verdicts[way + fault] = {v.case: v.verdict for v in found}
    with opgen.Results.open(f"{folder}/results{fault}.h5") as results:
        errors[fault] = {r.id: r.error for r in results if r.status == 0}
for mutant in ("nothing", "not_cleared", "strides_ignored"):
    with opgen.open(bundle) as suite:
        opgen.run(suite, f"mutant:{mutant}", f"{folder}/{mutant}.h5")
    found = opgen.diff(bundle, f"{folder}/{mutant}.h5")
    verdicts[mutant] = {v.case: v.verdict for v in found}
minimal = opgen.minimize(bundle, f"{folder}/resultselement.h5", "*", "aclnn", most=1)
for name, text in files(minimal.failure).items():
    with open(f"{folder}/{name}", "w") as program:
        program.write(text)
for tool in ("ttk", "npz", "gtest"):
    main(["export", tool, bundle, "-o", f"{folder}/{tool}", "-q"], standalone_mode=False)
table, lines = f"{folder}/ttk/cases.csv", f"{folder}/ttk.jsonl"
main(["import", "ttk", table, "-o", lines, "-q"], standalone_mode=False)
json.dump([told, verdicts, errors, calls], sys.stdout)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return held.checkout(tmp_path_factory.mktemp("held"))


@pytest.fixture(scope="module")
def seen(copy: Path) -> list[dict]:
    given = [str(copy), str(loopback.libraries()), loopback.SOCS["ascend910b"]]
    done = copies.python(copy, "-c", SCRIPT, *given, str(loopback.runner()))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_its_kernel_keeps_its_contract(copy: Path) -> None:
    shown = copies.opgen(copy, "check", "held_backward")
    assert shown.returncode == 0 and "the kernel keeps its contract" in shown.stdout


def test_a_bundle_has_what_it_holds_and_what_it_should_hold(seen) -> None:
    told = seen[0].values()
    assert len(told) > 20 and sum(held for held, _, _ in told) > 20
    assert all(right for _, right, _ in told)
    assert {json.dumps(outputs) for _, _, outputs in told} == {
        '{"gradInputRef": "FLOAT"}',
        '{"gradInputRef": "FLOAT16"}',
    }


def test_a_right_device_passes_and_a_wrong_one_does_not(seen) -> None:
    told, verdicts, _, _ = seen
    for way in ("results", "cmd", "nothing"):
        assert set(verdicts[way].values()) <= {"passed", "inconclusive"}
        assert list(verdicts[way].values()).count("passed") > 30
    for way in ("resultsstale", "resultselement", "cmdstale", "not_cleared"):
        failed = [case for case in told if verdicts[way][case] == "failed"]
        assert len(failed) > len(told) / 2, way
    assert "failed" in verdicts["strides_ignored"].values()


def has_gaps(desc: dict) -> bool:
    return prod(desc["storage_shape"] or ()) > prod(desc["shape"]) > 0


def test_what_lies_between_its_elements_is_not_the_devices(seen) -> None:
    _, verdicts, errors, calls = seen
    views = [case for case in errors["gaps"] if has_gaps(calls[case]["gradInputRef"])]
    overwritten = "1 elements of its storage outside the view were overwritten"
    assert views and all(overwritten in errors["gaps"][case] for case in views)
    assert not any(errors[""].values()) and not any(errors["stale"].values())
    assert all(verdicts["resultsgaps"][case] == "failed" for case in views)


@pytest.mark.usefixtures("seen")
def test_programs_show_a_fault(copy: Path) -> None:
    libraries = str(loopback.libraries())
    link = ["-L", libraries, "-lascendcl", "-lnnopbase", "-lopapi", "-Wall", "-Wextra", "-Werror"]
    compiler, program = loopback.compiler("g++", "clang++"), copy / "repro"
    subprocess.run([compiler, "-std=c++17", "-o", program, copy / "repro.cpp", *link], check=True)
    environment = os.environ | {
        "LOOPBACK_SOC": loopback.SOCS["ascend910b"],
        "LD_LIBRARY_PATH": libraries,
    }
    for command in ([program], ["python3", copy / "repro.py", libraries]):
        for fault, status in (("element", 1), ("beyond", 1), ("", 0)):
            told = environment | {"LOOPBACK_FAULT": fault}
            shown = subprocess.run(command, env=told, capture_output=True, text=True, check=False)
            assert shown.returncode == status, shown.stdout + shown.stderr


def test_other_tools_files_are_read_again(copy: Path, seen) -> None:
    told = seen[0]
    read = map(json.loads, (copy / "ttk.jsonl").read_text().splitlines())
    extents = [line["args"]["gradInputRef"]["shape"] for line in read]
    assert len(extents) >= len(told) and all(len(shape) == 2 for shape in extents)
    folder = next(path for path in (copy / "ttk" / "manual").iterdir() if path.name in told)
    assert sorted(path.name.split("_")[0] for path in folder.iterdir()) == [
        "golden",
        "input",
        "input",
    ]
    assert "aclTensor* gradInputRef_" in (copy / "gtest").read_text()


@pytest.mark.usefixtures("seen")
def test_atk_has_no_form_for_it(copy: Path) -> None:
    shown = copies.opgen(copy, "export", "atk", "suite.h5", "-o", "atk")
    assert "an output is an input too, and ATK makes a tensor of its own for it" in shown.stderr
