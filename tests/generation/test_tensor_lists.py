"""Lists of tensors from a spec to a verdict, by an operator that is made up: generated, run on the
loopback, judged, minimized, and written as programs.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests import loopback
from tests.support import chain, copies

SCRIPT = """
import json, os, sys, opgen
from opgen.devices import backend
from opgen.minimization import files
folder, libraries, soc, runner = sys.argv[1:]
os.environ |= {"OPGEN_OPAPI": libraries, "LOOPBACK_SOC": soc}
bundle = f"{folder}/suite.h5"


def shown(case):
    return [case.expect.codes, case.call["args"], [b.rule for b in case.expect.breaks]]


opgen.generate(["chain_backward"], plan="standard", output=bundle)
with opgen.open(bundle) as suite, open(f"{folder}/calls.jsonl", "w") as lines:
    for case in suite:
        print(json.dumps({**case.call, "id": case.id}, allow_nan=False), file=lines)
    told = {c.id: shown(c) for c in suite}
opgen.generate(calls=f"{folder}/calls.jsonl", output=f"{folder}/again.h5")
with opgen.open(f"{folder}/again.h5") as suite:
    again = {c.id: shown(c) for c in suite}
verdicts = {}
for fault in ("", "element"):
    os.environ["LOOPBACK_FAULT"] = fault
    with opgen.open(bundle) as suite:
        opgen.run(suite, backend("aclnn"), f"{folder}/results{fault}.h5")
        opgen.run(suite, f"cmd:{runner}", f"{folder}/cmd{fault}.h5")
    for way in ("results", "cmd"):
        found = opgen.diff(bundle, f"{folder}/{way}{fault}.h5")
        verdicts[way + fault] = {v.case: v.verdict for v in found}
os.environ["LOOPBACK_FAULT"] = "element"
minimal = opgen.minimize(bundle, f"{folder}/resultselement.h5", "*layers2*", "aclnn", most=1)
for name, text in files(minimal.failure).items():
    with open(f"{folder}/{name}", "w") as program:
        program.write(text)
json.dump({"told": told, "again": again, "verdicts": verdicts}, sys.stdout)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return chain.checkout(tmp_path_factory.mktemp("chain"))


@pytest.fixture(scope="module")
def seen(copy: Path) -> dict[str, dict]:
    soc = loopback.SOCS["ascend910b"]
    given = [str(copy), str(loopback.libraries()), soc, str(loopback.runner())]
    done = copies.python(copy, "-c", SCRIPT, *given)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_right_device_passes_and_a_wrong_one_does_not(seen) -> None:
    right, wrong = seen["verdicts"]["results"], seen["verdicts"]["resultselement"]
    assert set(right.values()) <= {"passed", "inconclusive", "lenient", "skipped"}, right
    assert list(right.values()).count("passed") > 40
    computed = [case for case in wrong if ".invalid." not in case and right[case] == "passed"]
    failed = [case for case in computed if wrong[case] == "failed"]
    assert len(failed) > len(computed) / 2


def test_a_runner_without_python_answers_as_the_backend_does(seen) -> None:
    for fault in ("", "element"):
        assert seen["verdicts"][f"cmd{fault}"] == seen["verdicts"][f"results{fault}"]


def test_cases_break_what_holds_of_a_list_and_of_each_tensor_in_it(seen) -> None:
    def lists(rule: str) -> list[list[dict[str, object] | None] | None]:
        return [args["factors"] for _, args, broken in seen["told"].values() if broken == [rule]]

    assert None in lists("factors.null")
    assert any(factors and None in factors for factors in lists("factors.null"))
    dtypes = [[f["dtype"] for f in factors] for factors in lists("alike")]
    assert ["FLOAT16", "FLOAT"] in dtypes or ["FLOAT", "FLOAT16"] in dtypes
    assert {len(factors) for factors in lists("as_many")} & {0, 3} or lists("as_many")
    assert lists("factors.shape") and lists("factors.dtype") and lists("factors.rank")
    lengths = {len(args["factors"]) for codes, args, _ in seen["told"].values() if codes == [0]}
    assert lengths == {1, 2}


def test_calls_are_the_same_when_they_are_written_and_read(seen) -> None:
    assert seen["again"] == seen["told"]


@pytest.mark.usefixtures("seen")
def test_programs_show_a_fault(copy: Path) -> None:
    libraries = str(loopback.libraries())
    source, program = copy / "repro.cpp", copy / "repro"
    link = ["-L", libraries, "-lascendcl", "-lnnopbase", "-lopapi", "-Wall", "-Wextra", "-Werror"]
    compiler = loopback.compiler("g++", "clang++")
    subprocess.run([compiler, "-std=c++17", "-o", program, source, *link], check=True)
    environment = os.environ | {
        "LOOPBACK_SOC": loopback.SOCS["ascend910b"],
        "LD_LIBRARY_PATH": libraries,
    }
    for command in ([program], ["python3", copy / "repro.py", libraries]):
        for fault, status in (("element", 1), ("", 0)):
            shown = subprocess.run(
                command,
                env=environment | {"LOOPBACK_FAULT": fault},
                capture_output=True,
                text=True,
                check=False,
            )
            assert shown.returncode == status, shown.stdout + shown.stderr
